/// The state that a new log needs to continue in place of a lost one.
package struct LogContinuation: Sendable {
    /// The upper bound, exclusive, of the sequences that may have been used.
    package var reservedBelow: UInt64
    /// The next id for a durable subscription. This id and higher ones were never assigned.
    package var nextSubscriptionID: DurableID
    /// The durable subscriptions whose creation is committed, with their current progress.
    package var subscriptions: [DurableRecord]
    /// The newest stored messages: all messages above some sequence, which are still in memory. The new log stores them
    /// again.
    package var messages: [LogBlock]

    package init(
        reservedBelow: UInt64, nextSubscriptionID: DurableID, subscriptions: [DurableRecord],
        messages: [LogBlock] = []
    ) {
        self.reservedBelow = reservedBelow
        self.nextSubscriptionID = nextSubscriptionID
        self.subscriptions = subscriptions
        self.messages = messages
    }
}

/// The outcome of a request to repair the log's files. The messages are for users, one line each.
package enum LogRepair: Equatable, Sendable {
    /// The files are in place.
    case notNeeded
    /// The log was reopened. Nothing that was stored is lost.
    case reopened(String)
    /// A new log replaces the lost one. The stored messages that were not in memory are lost. The losses are the lost
    /// messages that durable subscriptions had not acknowledged.
    case replaced(String, losses: [DurableID: Loss])
    /// The log can't be repaired. The message says why, and how to fix the problem.
    case failed(String)
}
