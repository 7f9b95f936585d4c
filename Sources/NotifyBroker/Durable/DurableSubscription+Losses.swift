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
    /// - Returns: Those that no gap has reported, or will report to the next member.
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
        let (isAttached, losses) = (state == .attached, committedLosses)
        return sequences.filter { !(isAttached ? losses.isReported($0) : losses.contains($0)) }
    }

    /// Records that no gap was sent for lost messages, because the log reader is past them: a member may still fail to
    /// process them.
    mutating func lossNotReported(_ messages: Loss) {
        changeLosses(of: cursor.generation) { $0.notReported(messages) }
    }

    /// Records messages that failed after their deletion while no member was attached. The next member gets a gap, unless
    /// the daemon restarts before: the log counts the messages as acknowledged.
    mutating func lostWhileDetached(_ messages: Loss) {
        changeLosses(of: committedCursor.generation) { $0.add(messages) }
    }

    /// Records that a gap was sent for the whole loss.
    mutating func lossReported() {
        changeLosses(of: cursor.generation) { $0.reported() }
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
