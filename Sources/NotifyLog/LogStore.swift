package import NIOCore
package import NotifyWire

/// Storage for the log: commits batches, reads pages and finds positions, serially, in the order of the requests.
///
/// Completions are called in the same order, on a queue that the store owns.
package protocol LogStore: AnyObject, Sendable {
    /// Commits the batch in one transaction. A failed batch stores no messages, and neither creates nor removes
    /// subscriptions.
    func commit(_ batch: CommitBatch, completion: @escaping @Sendable (CommitOutcome) -> Void)
    func readPage(_ request: PageRequest, completion: @escaping @Sendable (Page) -> Void)
    /// Reads copies of messages that are kept for a durable subscription.
    func readRedeliveries(_ request: RedeliveryRequest, completion: @escaping @Sendable (RedeliveryPage) -> Void)
    /// Finds the first stored message that was posted at `microseconds` since 1970 or later, by the wall clock.
    ///
    /// Reports the sequence of that message, or the sequence after the last stored message if there is none. If the
    /// wall clock was set back, several messages follow an earlier one; any of them may be reported.
    func findSequence(
        atOrAfter microseconds: UInt64, completion: @escaping @Sendable (Result<UInt64, StorageFailure>) -> Void)
    /// Counts the messages that each durable subscription has not acknowledged, as committed, and that one of its
    /// owners may receive. Other requests run in between.
    ///
    /// Reports what it found, without the subscriptions for which counting would take too much memory; nothing if
    /// reading failed.
    func measureBacklogs(
        under policy: AccessPolicy, completion: @escaping @Sendable ([DurableID: Backlog]) -> Void)
    /// Sums up the messages of each name, in slices between other requests. Must not be called before the answer to the
    /// last call.
    func summarize(
        _ request: SummaryRequest, completion: @escaping @Sendable (Result<LogSummary, StorageFailure>) -> Void)
    /// Deletes the messages that are stored when the purge begins, in slices between other requests. Reports each part
    /// to the deletion handler first. Must not be called before the answer to the last call.
    func purge(
        _ request: PurgeRequest, completion: @escaping @Sendable (Result<PurgeResult, StorageFailure>) -> Void)
    /// Checks every row of the log, and reports its progress in percent. Other requests run in between. Must not be
    /// called again before the completion.
    func checkLog(
        progress: @escaping @Sendable (Int) -> Void, completion: @escaping @Sendable (LogFindings) -> Void)
    /// Applies another retention policy to the requests that follow.
    func setRetention(_ policy: RetentionPolicy)
    /// Applies another policy to the requests that follow: a subscription does not lose what its owner may not receive.
    func setPolicy(_ policy: AccessPolicy)
    /// Sets what is called with each deletion that the store makes by itself.
    func setDeletionHandler(_ handler: @escaping @Sendable (Deletion) -> Void)
    /// Records that sequences below `next` may be visible to peers from now on. If the process crashes, the next start
    /// continues at `next`. If the kernel crashes, this record is lost.
    func sequencesUsed(below next: UInt64)
    /// Copies the log for a backup, in slices between other requests. A backup begun before ends.
    ///
    /// Reports the size of the backup in bytes.
    ///
    /// - Parameter target: The file to which the backup will be written. It must not be a file of the log.
    func beginBackup(target: FileLocation, completion: @escaping @Sendable (Result<UInt64, WireError>) -> Void)
    /// Reads a chunk of the backup, which is not empty. The offset must be below the size.
    func readBackup(
        from offset: UInt64, maximumBytes: Int,
        completion: @escaping @Sendable (Result<ByteBuffer, WireError>) -> Void)
    /// Ends the backup, if there is one, and removes its copy.
    func endBackup()
    /// Repairs the log if its files were deleted or moved. Reopens the log if possible; otherwise creates a new log
    /// from `continuation`.
    ///
    /// Must not be called while a commit is in flight, because `continuation` may lack the changes of that commit.
    func repair(with continuation: LogContinuation, completion: @escaping @Sendable (LogRepair) -> Void)
}
