import NotifyLog

/// Losses: messages that were deleted or dropped before they were acknowledged.
extension DurableSubscription {
    /// The lost messages. The loss ends when the member that received the gap acknowledges a later message, and this
    /// acknowledgement is committed.
    var loss: Loss? { losses.loss }

    /// The loss without the messages that the next batch adds.
    var savedLoss: Loss? { losses.savedLoss }

    /// The loss that the next batch removes from the log; nil if it removes none.
    @inline(__always)
    var passedLoss: PassedLoss? {
        losses.passed.map { PassedLoss(id: id, generation: _cursor.generation, loss: $0) }
    }

    /// Adds messages that a generation of the cursor has lost.
    ///
    /// - Returns: The loss. Its count is an upper bound if a client may have received some of the messages. Nil if the
    ///   generation is not the current one.
    mutating func lost(_ messages: Loss, generation: UInt32) -> Loss? {
        var messages = messages
        if messages.first <= _cursor.seenThrough { messages.isUpperBound = true }
        changeLosses(of: generation) { $0.add(messages) }
        return generation == _cursor.generation ? messages : nil
    }

    /// Adds messages that the broker has dropped. The next batch adds them to the loss in the log.
    ///
    /// - Returns: The loss. Its count is an upper bound, because a client may have received some of the messages.
    mutating func dropped(_ messages: Loss) -> Loss {
        var messages = messages
        messages.isUpperBound = true
        changeLosses(of: _cursor.generation) { $0.addUnsaved(messages) }
        return messages
    }

    /// Ends redeliveries for which no copy could be made, because the log had already deleted the messages. Messages
    /// that the log counted as acknowledged are in no loss yet, and are added to the loss.
    ///
    /// - Returns: The messages that no gap has reported.
    mutating func notCopied(_ sequences: [UInt64]) -> [UInt64] {
        for sequence in sequences {
            if case .inFlight(let holder, _)? = _redeliveries.state(of: sequence),
                let index = _members.index(of: holder)
            {
                _members.update(index) { $0.released(1) }
            }
        }
        _updateStoredRedeliveries { rows in
            for sequence in sequences { rows.discard(sequence) }
        }
        let losses = committedLosses
        if let loss = Loss(of: sequences.filter { !losses.contains($0) }, isUpperBound: true) {
            changeLosses(of: committedCursor.generation) { $0.addUnsaved(loss) }
        }
        return sequences.filter { !losses.isReported($0) }
    }

    /// Records that no gap was sent for lost messages that the log reader has passed. A member may still fail to
    /// process them.
    mutating func lossNotReported(_ messages: Loss) {
        changeLosses(of: _cursor.generation) { $0.notReported(messages) }
    }

    /// Records that a member gets a gap for the whole loss.
    mutating func lossReported(to attachment: Attachment) {
        let member = _members.index(of: attachment).flatMap { _members.id(at: $0) }
        changeLosses(of: _cursor.generation) { $0.reported(to: member, isWhole: true) }
    }

    /// Records that the member that has been attached longest gets a gap.
    ///
    /// - Returns: The messages for the gap. The whole loss, if another member got the earlier gaps. Nil if the
    ///   attachment is not committed: the member gets a gap for the whole loss once the attachment is committed.
    mutating func lossReported(_ messages: Loss) -> Loss? {
        guard let member = firstMember, member.isCommitted else { return nil }
        let isInformed = losses.informed.map { $0 == member.id } ?? true
        changeLosses(of: _cursor.generation) { $0.reported(to: member.id, isWhole: !isInformed) }
        return isInformed ? messages : loss ?? messages
    }

    /// The loss, if the member that received its gap ended without acknowledging a later message; otherwise nil.
    var unheardLoss: Loss? {
        guard let member = losses.informed, _members.index(of: member) == nil else { return nil }
        return loss
    }

    /// Records that a member has acknowledged a message. The loss before this message ends with the next commit, unless
    /// another member received the gap of the loss.
    mutating func lossAcknowledged(through sequence: UInt64, by index: Int) {
        guard loss != nil, losses.informed == nil || losses.informed == _members.id(at: index) else { return }
        let position = _cursor.position
        changeLosses(of: _cursor.generation) { $0.acknowledged(sequence, position: position) }
    }

    /// Records that a batch has not added messages to the loss in the log.
    mutating func saveFailed(_ messages: Loss) {
        changeLosses(of: committedCursor.generation) { $0.saveFailed(messages) }
    }

    /// Records that the log no longer contains a loss.
    mutating func forgotten(_ passed: PassedLoss) {
        changeLosses(of: passed.generation) { $0.forgotten(passed.loss) }
    }
}
