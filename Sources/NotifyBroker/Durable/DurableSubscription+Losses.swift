import NotifyLog

/// Messages that the store deleted before they were acknowledged.
extension DurableSubscription {
    /// The messages that were deleted before they were acknowledged, until the acknowledgement of a later message by a
    /// client that knows of it is committed.
    var loss: Loss? { losses.loss }

    /// The loss that the next batch removes from the log; nil if it removes none.
    var passedLoss: PassedLoss? {
        losses.passed.map { PassedLoss(id: id, generation: cursor.generation, last: $0) }
    }

    /// Adds messages that a generation of the cursor has lost.
    ///
    /// - Returns: The loss; its number is an upper bound if a client may have received some of the messages. Nil if the
    ///   generation is not the current one.
    mutating func lost(_ messages: Loss, generation: UInt32) -> Loss? {
        var messages = messages
        if messages.first <= cursor.seenThrough { messages.isUpperBound = true }
        changeLosses(of: generation) { $0.add(messages) }
        return generation == cursor.generation ? messages : nil
    }

    /// Ends redeliveries of which the log has made no copy, because it had deleted the messages before.
    ///
    /// - Returns: Those that are not part of a loss that is reported already.
    mutating func notCopied(_ sequences: [UInt64]) -> [UInt64] {
        for sequence in sequences {
            if case .inFlight(let holder, _)? = redeliveries.state(of: sequence),
                let index = members.index(of: holder)
            {
                members.update(index) { $0.released(1) }
            }
        }
        updateStoredRedeliveries { rows in
            for sequence in sequences { rows.discard(sequence) }
        }
        return sequences.filter { sequence in
            loss.map { !($0.first...$0.last).contains(sequence) } ?? true
        }
    }

    /// Records that a client has acknowledged a message. The loss before it ends with the next commit.
    mutating func lossAcknowledged(through sequence: UInt64) {
        guard loss != nil else { return }
        let position = cursor.position
        changeLosses(of: cursor.generation) { $0.acknowledged(sequence, position: position) }
    }

    /// Records that the log no longer contains a loss.
    mutating func forgotten(_ passed: PassedLoss) {
        changeLosses(of: passed.generation) { $0.forgotten(through: passed.last) }
    }
}
