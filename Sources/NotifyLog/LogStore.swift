/// Storage for the log: commits batches, reads pages and does other work, one request at a time, in order. Long work is
/// the exception: it is done in slices between other requests.
///
/// Completions are called in the order in which the requests are completed, on a queue that the store owns.
package protocol LogStore: AnyObject, Sendable {
    /// Commits the batch in one transaction. A failed batch stores no messages, and neither creates nor removes
    /// subscriptions.
    func commit(_ batch: CommitBatch, completion: @escaping @Sendable (CommitOutcome) -> Void)
    func readPage(_ request: PageRequest, completion: @escaping @Sendable (Page) -> Void)
    /// Reads copies of messages that are kept for a durable subscription.
    func readRedeliveries(_ request: RedeliveryRequest, completion: @escaping @Sendable (RedeliveryPage) -> Void)
    /// Does work for a request. Work of a kind must not be requested again until the last request of this kind is
    /// answered. The exception is `endBackup`, which may be requested at any time.
    func perform(_ work: StoreWork, answer: @escaping @Sendable (StoreAnswer) -> Void)
    /// Applies another retention policy to the requests that follow.
    func setRetention(_ policy: RetentionPolicy)
    /// Applies another policy to the requests that follow. Messages that none of the owners of a subscription may
    /// receive do not count as losses of the subscription.
    func setPolicy(_ policy: AccessPolicy)
    /// Sets the handler of reports about deletions by retention, purges and batches, and about the health of retention.
    func setDeletionHandler(_ handler: @escaping @Sendable (Deletion) -> Void)
    /// Records that sequences below `next` may be visible to peers from now on. If the process crashes, the next start
    /// continues at `next`. If the kernel crashes, this record is lost.
    func sequencesUsed(below next: UInt64)
    /// Repairs the log if its files were deleted or moved. Reopens the log if possible; otherwise creates a new log
    /// from `continuation`.
    ///
    /// Must not be called while a commit is in flight, because `continuation` may lack the changes of that commit.
    func repair(with continuation: LogContinuation, completion: @escaping @Sendable (LogRepair) -> Void)
}
