/// Storage for the log: commits batches and reads pages, serially, in the order of the requests.
///
/// Completions are called in the same order, on a queue that the store owns.
package protocol LogStore: AnyObject, Sendable {
    /// Commits the batch in one transaction. If that fails, nothing of it is stored.
    func commit(_ batch: CommitBatch, completion: @escaping @Sendable (CommitOutcome) -> Void)
    func readPage(_ request: PageRequest, completion: @escaping @Sendable (Page) -> Void)
    /// Records that sequences below `next` may be visible to peers from now on: after a crash, the next start continues
    /// at `next`.
    func sequencesUsed(below next: UInt64)
    /// Repairs the log if its files were deleted or moved: reopens it, or creates a new log from `continuation` if it
    /// can't be reopened.
    ///
    /// Must not be requested while a commit is in flight: `continuation` may lack what that commits.
    func repair(with continuation: LogContinuation, completion: @escaping @Sendable (LogRepair) -> Void)
}
