/// What the broker asks the store to commit in one transaction.
package struct CommitBatch: Sendable {
    /// Told back with the outcome.
    package var id: UInt64
    /// Messages to append, in rising order of sequence. Every entry of every block.
    package var blocks: [LogBlock]
    /// Changes to durable subscriptions, in order, after the messages.
    package var changes: [DurableChange]
    /// Raise the mark below which sequences count as used. Flushed to disk before the outcome is told.
    package var reserveThrough: UInt64?
    /// Flush to disk (fsync) before the outcome is told.
    package var isSynced: Bool

    package init(
        id: UInt64, blocks: [LogBlock] = [], changes: [DurableChange] = [], reserveThrough: UInt64? = nil,
        isSynced: Bool = false
    ) {
        self.id = id
        self.blocks = blocks
        self.changes = changes
        self.reserveThrough = reserveThrough
        self.isSynced = isSynced
    }
}

package enum DurableChange: Equatable, Sendable {
    case create(DurableRecord)
    case update(id: UInt32, DurableProgress)
    case remove(id: UInt32)
}

/// Why the store could not do what was asked. Nothing of the batch was kept.
package struct StorageFailure: Error, Equatable, Sendable {
    package enum Kind: Sendable {
        /// The disk, or the log's own limit, is full.
        case full
        /// Reading or writing failed.
        case inputOutput
    }

    package var kind: Kind
    package var message: String

    package init(kind: Kind, message: String) {
        self.kind = kind
        self.message = message
    }
}

extension StorageFailure: CustomStringConvertible {
    package var description: String { message }
}

/// The outcome of a batch.
package struct CommitOutcome: Sendable {
    package var batchID: UInt64
    package var result: Result<Void, StorageFailure>
    package var statistics: StoreStatistics

    package init(batchID: UInt64, result: Result<Void, StorageFailure>, statistics: StoreStatistics) {
        self.batchID = batchID
        self.result = result
        self.statistics = statistics
    }
}

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

/// Counters of the store since it was opened, and the present size of the log.
package struct StoreStatistics: Equatable, Sendable {
    package var commits: UInt64 = 0
    /// Commits that were flushed to disk before their outcome was told.
    package var syncs: UInt64 = 0
    package var pagesRead: UInt64 = 0
    package var logMessages: UInt64 = 0
    /// Of the database file.
    package var logBytes: UInt64 = 0
    /// Of the write-ahead log beside it.
    package var walBytes: UInt64 = 0

    package init() {}
}

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
    package var nextSubscriptionID: UInt32

    package init(
        nextSequence: UInt64, persistedThrough: UInt64, subscriptions: [DurableRecord], wasClosedCleanly: Bool,
        nextSubscriptionID: UInt32
    ) {
        self.nextSequence = nextSequence
        self.persistedThrough = persistedThrough
        self.subscriptions = subscriptions
        self.wasClosedCleanly = wasClosedCleanly
        self.nextSubscriptionID = nextSubscriptionID
    }
}
