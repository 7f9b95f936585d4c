import NotifyLog
import NotifyWire

/// The answers of members.
extension DurableSubscription {
    /// Acknowledges those messages in the ranges that were delivered to the member.
    ///
    /// - Throws: `notDelivered` if a range ends above the highest sequence delivered to the member. No message is then
    ///   acknowledged.
    mutating func acknowledged(_ ranges: [SequenceRange], by index: Int, now: BrokerTime) throws(WireError) {
        guard let member = _members[index] else { return }
        if let wrong = ranges.first(where: { $0.last > member.deliveredThrough }) {
            throw notDelivered(wrong.last, member)
        }
        let ranges = ranges.coalesced
        let count = _cursor.acknowledged(ranges, member: member.id)
        _members.update(index) { member in
            member.answered()
            member.acknowledged(count)
        }
        if !_redeliveries.isEmpty {
            for holder in _redeliveries.acknowledge(ranges, by: member.id) {
                guard let holder, let index = _members.index(of: holder) else { continue }
                _members.update(index) { $0.acknowledged(1) }
            }
        }
        moveOldestToRedeliveries(now: now)
    }

    private func notDelivered(_ sequence: UInt64, _ member: Member) -> WireError {
        WireError(
            .notDelivered,
            "sequence \(sequence) was not delivered to '\(name)': the last one was \(member.deliveredThrough)")
    }

    /// Moves the oldest messages to the redeliveries if they hold the cursor while many later ones are acknowledged.
    /// The cursor then passes the moved messages. If many messages hold the cursor, the rest moves after the next
    /// batch.
    mutating func moveOldestToRedeliveries(now: BrokerTime) {
        while isSpanFull, !isFull, !isSaving, let taken = _cursor.takeOldest() {
            if let isFailure = endedMembers.isFailure(taken.member) {
                finishDelivery(taken, isFailure ? .failed : .returned, delay: nil, reason: Self.died, now: now)
                continue
            }
            let deadline = deadline(of: taken, now: now.monotonic)
            _redeliveries.add(
                taken.sequence, .hold(taken.member, deadline: deadline), failures: 0, bytes: taken.bytes,
                holder: taken.member)
        }
    }

    /// The deadline of a message that was delivered for the first time; nil for none.
    private func deadline(of message: InFlightMessages.Taken, now: Duration) -> Duration? {
        let span = earlierDeadlines.microseconds(of: message.sequence) ?? settings.deadlineMicroseconds
        return span == 0 ? nil : message.delivered.time(before: now) + .microseconds(Int64(span))
    }

    /// Whether there is no room for further redeliveries.
    private var isFull: Bool { _redeliveries.isFull(withInFlight: 0, bytes: 0) }

    /// Records that a member rejects a message. The rejection of an earlier delivery, or of a message that the member
    /// no longer holds, is ignored.
    ///
    /// - Throws: `notDelivered` if the sequence is above the highest one delivered to the member.
    mutating func rejected(_ reject: Reject, by index: Int, now: BrokerTime) throws(WireError) {
        guard let member = _members[index] else { return }
        let sequence = reject.sequence
        guard sequence <= member.deliveredThrough else { throw notDelivered(sequence, member) }
        _members.update(index) { $0.answered() }
        guard reject.delivery == 0 || reject.delivery == _redeliveries.failures(of: sequence) &+ 1 else { return }
        if let taken = _cursor.take(sequence, from: member.id) {
            finishDelivery(
                taken, reject.outcome, delay: reject.delayMicroseconds, reason: reject.reason, now: now)
        } else if _redeliveries.isInFlight(sequence, to: member.id) {
            failAgain(sequence, reject.outcome, delay: reject.delayMicroseconds, reason: reject.reason, now: now)
        } else {
            return
        }
        // A later acknowledgement of a range by this member must not finish the message.
        _redeliveries.release(sequence, by: member.id)
        _members.update(index) { $0.released(1) }
    }

    /// Postpones the deadlines of messages that a member holds. Other messages are ignored.
    ///
    /// A message whose deadline is extended has held the cursor for long, so it moves to the redeliveries, which have
    /// room for every message in flight.
    mutating func extended(_ sequences: [UInt64], microseconds: UInt64, by index: Int, now: BrokerTime) {
        guard let member = _members[index] else { return }
        _members.update(index) { $0.answered() }
        let span = microseconds == 0 ? settings.deadlineMicroseconds : microseconds
        guard span > 0 else { return }
        let deadline = now.monotonic + .microseconds(Int64(max(span, DurableSettingChanges.minimumDeadline)))
        for sequence in sequences {
            if _redeliveries.isInFlight(sequence, to: member.id) {
                _redeliveries.extend(sequence, to: deadline)
            } else if let taken = _cursor.take(sequence, from: member.id) {
                _redeliveries.add(
                    sequence, .hold(member.id, deadline: deadline), failures: 0, bytes: taken.bytes,
                    holder: member.id)
            }
        }
    }

    /// Moves a message after its first delivery to the redeliveries.
    mutating func finishDelivery(
        _ taken: InFlightMessages.Taken, _ outcome: Reject.Outcome, delay: UInt64?, reason: String, now: BrokerTime
    ) {
        let failures: UInt32 = outcome == .returned ? 0 : 1
        if outcome != .returned { failed(taken.sequence, failures, reason, now: now) }
        _redeliveries.add(
            taken.sequence, next(after: outcome, failures: failures, delay: delay, now: now), failures: failures,
            bytes: taken.bytes, holder: taken.member, reason: outcome == .returned ? "" : reason)
    }

    /// Decides the next step of a message after a failed redelivery.
    mutating func failAgain(
        _ sequence: UInt64, _ outcome: Reject.Outcome, delay: UInt64?, reason: String, now: BrokerTime
    ) {
        let failures = _redeliveries.failures(of: sequence) + (outcome == .returned ? 0 : 1)
        if outcome != .returned { failed(sequence, failures, reason, now: now) }
        _redeliveries.change(
            sequence, to: next(after: outcome, failures: failures, delay: delay, now: now), failures: failures,
            reason: outcome == .returned ? "" : reason)
    }

    private mutating func failed(_ sequence: UInt64, _ failures: UInt32, _ reason: String, now: BrokerTime) {
        lastFailure = DurableDescription.Failure(
            sequence: sequence, microseconds: now.wallMicroseconds, failures: failures, reason: reason)
    }

    private func next(
        after outcome: Reject.Outcome, failures: UInt32, delay: UInt64?, now: BrokerTime
    ) -> Redeliveries.Next {
        let isLast = outcome == .failed && settings.maximumDeliveries > 0 && failures >= settings.maximumDeliveries
        if isLast || outcome == .dead { return .deadLetter }
        return .wait(microseconds: delay ?? settings.retryDelay(afterFailures: failures), now: now)
    }
}
