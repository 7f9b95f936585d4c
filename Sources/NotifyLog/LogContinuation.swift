/// What a new log needs to continue where a lost one ended.
package struct LogContinuation: Equatable, Sendable {
    /// Sequences below this may have been used.
    package var reservedThrough: UInt64
    /// The lowest id that no durable subscription ever had.
    package var nextSubscriptionID: DurableID
    /// The durable subscriptions whose creation is committed, with their present progress.
    package var subscriptions: [DurableRecord]

    package init(reservedThrough: UInt64, nextSubscriptionID: DurableID, subscriptions: [DurableRecord]) {
        self.reservedThrough = reservedThrough
        self.nextSubscriptionID = nextSubscriptionID
        self.subscriptions = subscriptions
    }
}

/// What came of a request to repair the log's files. Messages are one line, for people.
package enum LogRepair: Equatable, Sendable {
    /// The files are in place.
    case notNeeded
    /// The log goes on, and nothing that was stored is lost.
    case reopened(String)
    /// A new log goes on in place of the lost one. What was stored is gone.
    case replaced(String)
    /// Why it can't be repaired, and what to do.
    case failed(String)
}
