import NotifyLog

/// The state of writing batches: the messages that the current batch deletes or could not copy, counters of all
/// batches, and a refused batch that must still be undone.
struct BatchWriter: ~Copyable {
    /// Whether history is deleted to make room for a batch.
    var makesRoom = true
    /// Whether the start is recorded: the database is marked as in use. If the next start finds it so, the daemon did not
    /// stop cleanly.
    var isMarkedInUse = true
    /// A batch that was committed, but reported as failed, because a file was found moved away, replaced or truncated
    /// right afterwards. The batch must still be removed from the database.
    var refusedBatch: RefusedBatch?

    /// The messages that the batch deletes; nil if it deletes none.
    private var deletion: Deletion?
    /// The messages that the batch could not copy, because the log no longer contains them.
    private(set) var missingCopies: [DurableID: [UInt64]] = [:]
    private var commits: UInt64 = 0
    private var syncs: UInt64 = 0

    mutating func begin() {
        deletion = nil
        missingCopies = [:]
    }

    mutating func add(_ part: Deletion) {
        if deletion?.add(part) == nil { deletion = part }
    }

    mutating func addMissingCopy(of sequence: UInt64, for id: DurableID) {
        missingCopies[id, default: []].append(sequence)
    }

    /// Ends the batch.
    ///
    /// - Returns: The messages that the batch has deleted; nil if there are none.
    mutating func commit(isFlushed: Bool) -> Deletion? {
        isMarkedInUse = true
        commits += 1
        syncs += isFlushed ? 1 : 0
        return deletion.take()
    }

    /// Continues the counters of a log that the present log replaces. The start is recorded if that log recorded it.
    mutating func adopt(_ old: borrowing BatchWriter) {
        (commits, syncs, isMarkedInUse) = (old.commits, old.syncs, old.isMarkedInUse)
    }

    func report(in statistics: inout StoreStatistics) {
        statistics.commits = commits
        statistics.syncs = syncs
    }
}
