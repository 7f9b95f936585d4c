package import NIOCore
package import NotifyWire

/// Work that the store does for a request, besides commits and pages. Long work is done in slices, between which other
/// requests run.
package enum StoreWork: Sendable {
    /// Find the first stored message that was posted at this time or later, by the wall clock, in microseconds since
    /// 1970. Answered with `found`.
    case findSequence(atOrAfter: UInt64)
    /// Sum up the messages of each name. Answered with `summarized`.
    case summarize(SummaryRequest)
    /// Delete the messages that are stored when the purge begins. Each part is reported to the deletion handler first.
    /// Answered with `purged`.
    case purge(PurgeRequest)
    /// Check every row of the log. Answered with `checkAdvanced`, several times, and then with `checked`.
    case check
    /// Count, for each durable subscription, the messages without a committed acknowledgement that at least one of its
    /// identities (`DurableRecord.owners`) may receive. Answered with `backlogs`.
    case measureBacklogs(under: AccessPolicy)
    /// Copy the log for a backup to the file that will be written at `target`, which must not be a file of the log. An
    /// earlier backup ends. Answered with `backupMade`.
    case beginBackup(target: FileLocation)
    /// Read a chunk of the backup. The chunk is not empty. The offset must be below the size. Answered with
    /// `backupRead`.
    case readBackup(from: UInt64, maximumBytes: Int)
    /// End the backup, if there is one, also while it is being made, and remove its copy. Not answered.
    case endBackup
}

/// An answer of the store to `StoreWork`.
package enum StoreAnswer: Sendable {
    /// The store has failed. Backups and `measureBacklogs` report a failure with their own answers instead.
    case failed(StorageFailure)
    /// The sequence of the message, or the sequence after the last stored message if there is none. If the wall clock
    /// was set back, several messages may meet this condition, and any of them may be reported.
    case found(UInt64)
    case summarized(LogSummary)
    case purged(PurgeResult)
    /// The progress of a check. Another answer follows.
    case checkAdvanced(percent: Int)
    case checked(LogFindings)
    /// The counts, without the subscriptions for which counting would take too much memory; empty if reading failed.
    case backlogs([DurableID: Backlog])
    /// The size of the backup, in bytes.
    case backupMade(Result<UInt64, WireError>)
    case backupRead(Result<ByteBuffer, WireError>)

    /// The answer to work that has failed or has a result.
    package init<Value>(_ result: Result<Value, StorageFailure>, as success: (Value) -> StoreAnswer) {
        switch result {
        case .success(let value): self = success(value)
        case .failure(let failure): self = .failed(failure)
        }
    }
}
