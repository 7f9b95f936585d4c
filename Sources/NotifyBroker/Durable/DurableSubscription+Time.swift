import NotifyLog
import NotifyWire

/// Passed deadlines and ended members.
///
/// The messages concerned move to the redeliveries in slices, so that no batch contains too many copies.
extension DurableSubscription {
    /// The maximum number of messages that move in one slice.
    private static let slice = 512
    /// The maximum number of bytes of unsaved copies at which another slice may move.
    private static let sliceBytes = 4 << 20
    /// The maximum number of messages that one slice searches for messages of ended members.
    private static let searchSlice = 8_192

    // MARK: Deadlines

    /// The time at which `timePassed` must be called; nil if there is none. May be too early.
    mutating func nextTime(now: Duration) -> Duration? {
        if isSaving { return nil }
        return .earlier(_redeliveries.nextTime, endedMembers.isEmpty ? firstDeadline(now: now)?.time : now)
    }

    /// Whether many redeliveries wait for a batch, or are in the batch in flight. If so, passed deadlines, ended
    /// members and a held cursor move no further messages until the outcome of the batch. A rejection or an extension
    /// of a deadline still moves its message: the broker limits both by pausing the connection of the client.
    var isSaving: Bool {
        _redeliveries.unsavedCount >= Self.slice || _redeliveries.uncopiedBytes >= Self.sliceBytes
    }

    /// Must be called when rows of redeliveries are in the log, because further messages may then move.
    mutating func rowsSaved(now: BrokerTime) {
        moveOldestToRedeliveries(now: now)
        moveEnded(now: now)
    }

    /// Of the messages in flight for the first time, the one with the next deadline.
    private mutating func firstDeadline(now: Duration) -> (sequence: UInt64, time: Duration)? {
        earlierDeadlines.next(in: _cursor.inFlight, current: settings.deadlineMicroseconds, now: now)
    }

    /// Handles deadlines that have passed, makes messages due, and moves the messages of ended members.
    mutating func timePassed(now: BrokerTime) {
        guard !isSaving else { return }
        for (sequence, member) in _redeliveries.takeExpired(now: now.monotonic, maximumCount: Self.slice) {
            let isFailure = endedMembers.isFailure(member) ?? true
            failAgain(sequence, isFailure ? .failed : .returned, delay: nil, reason: Self.expired, now: now)
            stalled(member)
        }
        moveEnded(now: now)
        while !isSaving, let first = firstDeadline(now: now.monotonic), first.time <= now.monotonic,
            let taken = _cursor.take(first.sequence)
        {
            let isFailure = endedMembers.isFailure(taken.member) ?? true
            finishDelivery(taken, isFailure ? .failed : .returned, delay: nil, reason: Self.expired, now: now)
            stalled(taken.member)
        }
    }

    private static let expired = "no answer within the deadline"

    private mutating func stalled(_ id: MemberID) {
        guard let index = _members.index(of: id) else { return }
        _members.update(index) { member in
            member.released(1)
            member.stalled()
        }
    }

    // MARK: Endings

    /// The reason why an attachment ends.
    enum Ending {
        /// The client has detached. The messages that it has not answered are given back without a failure.
        case detached
        /// The client ended without detaching. The messages that it has not answered have failed, unless the client
        /// was exclusive and the number of deliveries is not limited.
        case died
    }

    /// Ends the attachments of members. Their messages are given back or count as failed. The end of the last member
    /// ends the reader.
    ///
    /// Messages in flight for the first time that the last members give back are delivered again from the cursor,
    /// unless messages of members that ended earlier still move. The same applies if an exclusive client dies and the
    /// number of deliveries is not limited.
    mutating func detached(_ indices: [Int], _ ending: Ending, now: BrokerTime) {
        let ended = indices.compactMap { _members.remove($0) }
        guard !ended.isEmpty else { return }
        let isFailure = ending == .died && (settings.sharing == .group || settings.maximumDeliveries > 0)
        let movesFirst = !_members.isEmpty || isFailure || !endedMembers.isEmpty
        for member in ended {
            endedMembers.add(
                member.id, isFailure: isFailure, held: member.unacknowledged,
                hasRedeliveries: _redeliveries.mayBeHeld(by: member.id), movesFirst: movesFirst)
        }
        if _members.isEmpty { reader = nil }
        if !movesFirst { rewind() }
        moveEnded(now: now)
    }

    private mutating func moveEnded(now: BrokerTime) {
        var searched = 0
        while searched < Self.searchSlice, !isSaving {
            if let id = endedMembers.redelivering {
                searched += moveRedeliveries(of: id, now: now)
            } else if let ids = endedMembers.searched() {
                searched += moveFirstDeliveries(of: ids, atMost: Self.searchSlice - searched, now: now)
            } else {
                break
            }
        }
        if _members.isEmpty, endedMembers.isEmpty { rewind() }
    }

    private mutating func moveRedeliveries(of id: MemberID, now: BrokerTime) -> Int {
        let isFailure = endedMembers.isFailure(id) ?? false
        let held = _redeliveries.takeHeld(by: id, maximumCount: Self.slice)
        for sequence in held.inFlight {
            if isFailure {
                failAgain(sequence, .failed, delay: nil, reason: Self.died, now: now)
            } else {
                failAgain(sequence, .returned, delay: 0, reason: "", now: now)
            }
        }
        endedMembers.redelivered(held.inFlight.count, isLast: held.isLast)
        return max(held.count, 1)
    }

    private mutating func moveFirstDeliveries(of ids: Set<MemberID>, atMost limit: Int, now: BrokerTime) -> Int {
        let found = _cursor.takeAll(
            from: ids, after: endedMembers.searchedThrough, maximumCount: Self.slice, maximumSearched: limit)
        for taken in found.messages {
            if endedMembers.isFailure(taken.member) ?? false {
                finishDelivery(taken, .failed, delay: nil, reason: Self.died, now: now)
            } else {
                finishDelivery(taken, .returned, delay: 0, reason: "", now: now)
            }
        }
        endedMembers.found(found.messages.count, through: found.end)
        return max(found.searched, 1)
    }

    static let died = "the client ended without an answer"
}
