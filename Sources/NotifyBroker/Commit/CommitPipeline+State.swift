/// What waits for a commit.
extension CommitPipeline {
    /// The sequence up to which no commit is pending: each message up to it is committed, is not to be stored, or was
    /// refused because its commit failed.
    var settledThrough: UInt64 {
        (inFlight?.log.firstSequence ?? pending.firstSequence).map { $0 - 1 } ?? sequencer.last
    }

    /// The ids of the batches whose outcome is unknown, including that of the pending content.
    var unfinishedBatches: ClosedRange<UInt64> { (inFlight?.id ?? nextBatchID)...nextBatchID }

    /// Whether no request waits for a commit and no batch is in flight.
    var isIdle: Bool { inFlight == nil && !pending.isRequested }
}
