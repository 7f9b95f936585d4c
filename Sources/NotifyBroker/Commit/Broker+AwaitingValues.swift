import Algorithms
import NotifyLog
import NotifyWire

/// Answers about values that wait for a commit.
extension Broker {
    /// Checks that there is room for an answer that waits for a commit.
    ///
    /// - Throws: `storageFailed`, `logFull`, `logDamaged` or `limitReached`.
    func checkAnswerRoom(_ slot: ConnectionSlot) throws(WireError) {
        try commits.checkRoom()
        try ledger.checkRoom(for: 0, uid: connections[slot].uid)
        guard connections[slot].pendingAnswers < configuration.postWindow else {
            throw WireError(
                .limitReached,
                "\(configuration.postWindow) requests of this connection wait for a commit: wait for some of them")
        }
    }

    /// Adds an answer that rests on the present value of a key to the next batch, after ``checkAnswerRoom(_:)``.
    mutating func answerLater(_ answer: PendingLog.Continuation, _ key: ValueKey, _ slot: ConnectionSlot) {
        values.noteDependence(on: key)
        connections[slot].answerPending()
        commits.append(nil, then: answer)
        pauseIfLogBehind(slot)
    }

    /// Lets the waiting requests whose values have changed in a committed batch read their page.
    mutating func wakeValueReads(_ batch: InFlightBatch) {
        let last = commits.persistedThrough
        wakeValueReads(
            batch.values, isSelected: { batch.log.matches($0.sequence, $1) },
            passing: { $0.after = max($0.after, last) })
        actions.append(.scheduleTick)
    }

    /// The maximum number of comparisons of changes with waiting requests in one step. If there would be more, all
    /// requests read a page.
    private static let maximumComparisons = 8_192

    /// Lets the waiting requests that select one of the changes read their page.
    ///
    /// - Parameter pass: Moves the position of a request that selects none of the changes past them.
    mutating func wakeValueReads<Change>(
        _ changes: [Change], isSelected: (Change, SubscriptionFilter) -> Bool, passing pass: (inout ValueRead) -> Void
    ) {
        let waiting = pages.values.atEndCount
        guard changes.count * waiting <= Self.maximumComparisons else {
            scheduler.spend(waiting * FairScheduler.Cost.listVisit)
            return pages.values.committed()
        }
        scheduler.spend(changes.count * waiting)
        pages.values.committed { read in
            if changes.contains(where: { isSelected($0, read.filter) }) { return true }
            pass(&read)
            return false
        }
    }
}

extension PendingLog {
    /// Whether a filter selects the message with this sequence.
    fileprivate func matches(_ sequence: UInt64, _ filter: SubscriptionFilter) -> Bool {
        let part = sealed.first { ($0.block.entries.last?.sequence ?? 0) >= sequence }
        guard let part, let entry = part.block.entries.binarySearched(sequence) else { return false }
        return part.block.withMessage(entry) { filter.matches($0.parts) }
    }
}

extension [LogBlock.Entry] {
    /// The entry with a sequence; nil if there is none.
    func binarySearched(_ sequence: UInt64) -> LogBlock.Entry? {
        let index = partitioningIndex { $0.sequence >= sequence }
        return index < endIndex && self[index].sequence == sequence ? self[index] : nil
    }
}
