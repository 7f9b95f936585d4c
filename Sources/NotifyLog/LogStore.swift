/// What keeps the log: commits batches and reads pages, one after another in the order in which they were requested.
///
/// Completions are called in that order, on a queue of the store's.
package protocol LogStore: AnyObject, Sendable {
    /// Commits the batch in one transaction, or nothing of it.
    func commit(_ batch: CommitBatch, completion: @escaping @Sendable (CommitOutcome) -> Void)
    func readPage(_ request: PageRequest, completion: @escaping @Sendable (Page) -> Void)
    /// Sequences below `next` may be visible to peers from now on: should the process die, the next start continues there.
    func sequencesUsed(below next: UInt64)
}
