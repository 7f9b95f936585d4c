/// What keeps the log: commits batches and reads pages, one after another in the order in which they were requested.
///
/// Completions are called in that order, on a queue of the store's.
package protocol LogStore: AnyObject, Sendable {
    /// Commits the batch in one transaction, or nothing of it.
    func commit(_ batch: CommitBatch, completion: @escaping @Sendable (CommitOutcome) -> Void)
    func readPage(_ request: PageRequest, completion: @escaping @Sendable (Page) -> Void)
    /// Sequences below `next` may be visible to peers from now on: should the process die, the next start continues there.
    func sequencesUsed(below next: UInt64)
    /// Repairs the log if its files were deleted or moved away: with a new log from `continuation` where there is no other way.
    /// Must be requested while no commit is under way, or `continuation` may lack what that commits.
    func repair(with continuation: LogContinuation, completion: @escaping @Sendable (LogRepair) -> Void)
}
