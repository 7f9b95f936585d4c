/// What the store found when it was opened.
package struct RecoveredLog: Sendable {
    /// No sequence from here on was ever used.
    package var nextSequence: UInt64
    /// The highest sequence committed to the log; 0 for an empty one.
    package var persistedThrough: UInt64
    package var subscriptions: [DurableRecord]
    /// The last user of the database closed it in order.
    package var wasClosedCleanly: Bool
    /// The lowest id that no durable subscription ever had.
    package var nextSubscriptionID: DurableID

    package init(
        nextSequence: UInt64, persistedThrough: UInt64, subscriptions: [DurableRecord], wasClosedCleanly: Bool,
        nextSubscriptionID: DurableID
    ) {
        self.nextSequence = nextSequence
        self.persistedThrough = persistedThrough
        self.subscriptions = subscriptions
        self.wasClosedCleanly = wasClosedCleanly
        self.nextSubscriptionID = nextSubscriptionID
    }
}
