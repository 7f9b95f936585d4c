/// What the store found when it was opened.
package struct RecoveredLog: Sendable {
    /// No sequence from here on was ever used.
    package var nextSequence: UInt64
    /// Sequences below this may be used even if the log can't be written to: the store sees to it that the next start of
    /// the same boot does not use them again.
    package var usableThrough: UInt64
    /// The highest sequence committed to the log; 0 for an empty one.
    package var persistedThrough: UInt64
    package var subscriptions: [DurableRecord]
    /// The last user of the database closed it in order.
    package var wasClosedCleanly: Bool
    /// The lowest id that no durable subscription ever had.
    package var nextSubscriptionID: DurableID

    package init(
        nextSequence: UInt64, usableThrough: UInt64? = nil, persistedThrough: UInt64, subscriptions: [DurableRecord],
        wasClosedCleanly: Bool, nextSubscriptionID: DurableID
    ) {
        self.nextSequence = nextSequence
        self.usableThrough = usableThrough ?? nextSequence
        self.persistedThrough = persistedThrough
        self.subscriptions = subscriptions
        self.wasClosedCleanly = wasClosedCleanly
        self.nextSubscriptionID = nextSubscriptionID
    }
}
