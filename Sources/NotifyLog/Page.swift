/// A durable reader's request for the stored messages after a position.
package struct PageRequest: Sendable {
    /// The subscription, told back with the page. Its filter never changes, so the store may remember by it.
    package var subscription: UInt32
    /// Told back with the page: a reader that has moved on since does not take an old page for a new one.
    package var generation: UInt64
    package var filter: SubscriptionFilter
    /// The sequence after which to read.
    package var after: UInt64
    /// Most messages to give.
    package var maximumMessages: Int

    package init(
        subscription: UInt32, generation: UInt64, filter: SubscriptionFilter, after: UInt64, maximumMessages: Int
    ) {
        self.subscription = subscription
        self.generation = generation
        self.filter = filter
        self.after = after
        self.maximumMessages = maximumMessages
    }
}

/// The matching messages of a stretch of the log.
package struct Page: Sendable {
    package var subscription: UInt32
    package var generation: UInt64
    package var result: Result<Content, StorageFailure>
    package var statistics: StoreStatistics

    package struct Content: Sendable {
        package var block: LogBlock
        /// Every matching message up to here is in this page or an earlier one. Where the log ended, it is the
        /// highest sequence committed so far, so that the reader can tell that it has caught up.
        package var scannedThrough: UInt64

        package init(block: LogBlock, scannedThrough: UInt64) {
            self.block = block
            self.scannedThrough = scannedThrough
        }
    }

    package init(
        subscription: UInt32, generation: UInt64, result: Result<Content, StorageFailure>, statistics: StoreStatistics
    ) {
        self.subscription = subscription
        self.generation = generation
        self.result = result
        self.statistics = statistics
    }
}
