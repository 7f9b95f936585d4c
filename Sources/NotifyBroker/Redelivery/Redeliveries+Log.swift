import DequeModule
import NotifyLog

/// Dead letters, and saving the redeliveries in the log.
extension Redeliveries {
    // MARK: Dead letters

    /// Records that messages have not become dead letters.
    mutating func notDeadLettered(_ sequences: some Sequence<UInt64>) {
        for sequence in sequences where messages[sequence]?.state == .deadLettering { set(.dead, of: sequence) }
    }

    /// Removes messages that have become dead letters. The same batch has removed their rows.
    mutating func deadLettered(_ sequences: some Sequence<UInt64>) {
        for sequence in sequences where messages[sequence]?.state == .deadLettering {
            remove(sequence)
            unsaved[sequence] = nil
        }
    }

    // MARK: The log

    /// The changes of a batch to the log.
    struct Unsaved {
        /// The messages with the reasons of their last failures.
        var reasons: [UInt64: String] = [:]
        var changes: [DurableChange] = []
    }

    /// Takes the changes that the next batch makes to the log.
    mutating func takeUnsaved(of id: DurableID, now: Duration) -> Unsaved {
        var result = Unsaved(reasons: beginSaving())
        var finished: [UInt64] = []
        for (sequence, reason) in result.reasons.sorted(by: { $0.key < $1.key }) {
            if let message = messages[sequence] {
                result.changes.append(.keep(id: id, message.record(sequence, now: now), reason: reason))
            } else {
                finished.append(sequence)
            }
        }
        if !finished.isEmpty { result.changes.append(.forget(id: id, sequences: finished)) }
        return result
    }

    /// Records that the changes of a batch are in the log.
    mutating func saved(_ sequences: some Sequence<UInt64>) {
        endSaving()
        for sequence in sequences {
            guard let message = messages[sequence] else { continue }
            copied(sequence)
            switch message.state {
            case .due: if !message.isStored { becameDue(sequence) }
            case .dead: if unsaved[sequence] == nil { dead.append(sequence) }
            default: break
            }
        }
    }

    /// Removes a message whose copy the log has deleted. A message in flight stays until its answer: after a failure,
    /// the next batch requests another copy, and the store reports that there is none.
    mutating func copyDeleted(_ sequence: UInt64) {
        switch messages[sequence]?.state {
        case .waiting, .due, .reading, .dead, .deadLettering: discard(sequence)
        case .inFlight: uncopied(sequence)
        case nil: break
        }
    }

    /// Records that the changes of a batch are not in the log.
    mutating func saveFailed(_ batch: Unsaved) {
        endSaving()
        unsaved.restore(batch.reasons)
    }
}
