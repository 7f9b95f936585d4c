/// The outcome of a batch.
package struct CommitOutcome: Sendable {
    package var batchID: UInt64
    package var result: Result<Void, StorageFailure>
    package var statistics: StoreStatistics
    /// The messages that the batch could not copy, because the log no longer contains them or they are damaged.
    package var missingCopies: [DurableID: [UInt64]]
    /// The reason why a batch with messages would fail now; nil if such a batch would succeed. Set only for a batch
    /// without messages, which is committed in spite of the failure.
    package var remainingFailure: StorageFailure?

    package init(
        batchID: UInt64, result: Result<Void, StorageFailure>, statistics: StoreStatistics,
        missingCopies: [DurableID: [UInt64]] = [:], remainingFailure: StorageFailure? = nil
    ) {
        self.batchID = batchID
        self.result = result
        self.statistics = statistics
        self.missingCopies = missingCopies
        self.remainingFailure = remainingFailure
    }
}

/// A failure of the store, for example to commit a batch (see ``LogStore/commit(_:completion:)``) or to read a page.
package struct StorageFailure: Error, Equatable, Sendable {
    package enum Kind: Sendable {
        /// The disk is full, or the log has reached its size limit.
        case full
        /// Reading or writing failed.
        case inputOutput
        /// The log's content is damaged. The log must be replaced while the daemon is stopped.
        case damaged
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
