import NotifyLog
import NotifyWire

/// The position of a durable subscription in the log, and the messages in flight above it.
struct Cursor {
    /// Every matching message up to this sequence is acknowledged or skipped, or has moved to the redeliveries.
    private(set) var position: UInt64
    /// Every matching message up to this sequence was delivered or acknowledged. May be too low while the log reader is
    /// live, because a live reader does not report messages that do not match.
    private(set) var passedThrough: UInt64
    /// A client may have seen any message up to this sequence.
    private(set) var seenThrough: UInt64
    /// The number of times the position was reset.
    let generation: UInt32
    /// Messages above the position that were delivered in the present attachments, or skipped because a client had
    /// acknowledged them in an earlier attachment.
    private(set) var inFlight = InFlightMessages()
    /// The sequences acknowledged in earlier attachments, above the position at which the present ones began: ascending
    /// and disjoint. Not a `RangeSet`: the compiler does not know its size, so each delivery copied the whole
    /// subscription.
    private var acknowledgedBefore: [SequenceRange]
    /// The value of `seenThrough` when the present attachments began.
    private var redeliverThrough: UInt64

    init(_ progress: DurableProgress) {
        position = progress.cursor
        passedThrough = progress.cursor
        seenThrough = progress.seenThrough
        redeliverThrough = progress.seenThrough
        generation = progress.generation
        acknowledgedBefore = progress.acknowledged.coalesced
    }

    /// The sequence after which the log is to be read.
    var readPosition: UInt64 { inFlight.isEmpty ? position : passedThrough }

    /// The memory of messages in flight and of ranges acknowledged in earlier attachments, in bytes.
    var byteCount: Int {
        inFlight.byteCount + acknowledgedBefore.count * MemoryLayout<SequenceRange>.stride
    }

    // MARK: Delivering

    /// Whether a client may have seen the message in an earlier attachment.
    func isRedelivery(_ sequence: UInt64) -> Bool { sequence <= redeliverThrough }

    /// Records the delivery of a matching message to a member, unless the message is skipped.
    ///
    /// - Parameters:
    ///   - sequence: The message's sequence, which must be higher than all earlier ones.
    ///   - bytes: The size of the message's frame.
    /// - Returns: False if the message was acknowledged in an earlier attachment or released, and is skipped.
    mutating func take(_ sequence: UInt64, bytes: UInt32, member: MemberID, at time: CoarseTime) -> Bool {
        // A message at or below the position was released while the reader was at an earlier message.
        guard sequence > position else { return false }
        passedThrough = sequence
        if !acknowledgedBefore.isEmpty, acknowledgedBefore.containsSequence(sequence) {
            skip(sequence, member: member, at: time)
            return false
        }
        if inFlight.isEmpty { position = max(position, sequence - 1) }
        inFlight.append(sequence, member: member, bytes: bytes, at: time)
        seenThrough = max(seenThrough, sequence)
        return true
    }

    /// Records the delivery of several matching messages to a member. Does nothing if one of them may have to be
    /// skipped, or if only some are redeliveries.
    ///
    /// - Parameters:
    ///   - entries: At least one message. The sequences must be higher than all earlier ones.
    ///   - bytes: The sizes of the messages' frames.
    /// - Returns: False if nothing was recorded.
    mutating func take(
        _ entries: ArraySlice<LogBlock.Entry>, bytes: Int, member: MemberID, at time: CoarseTime
    ) -> Bool {
        guard let first = entries.first?.sequence, let last = entries.last?.sequence, first > position,
            acknowledgedBefore.isEmpty, isRedelivery(first) == isRedelivery(last)
        else { return false }
        if inFlight.isEmpty { position = max(position, first - 1) }
        inFlight.append(entries, member: member, bytes: bytes, at: time)
        passedThrough = last
        seenThrough = max(seenThrough, last)
        return true
    }

    /// Skips a matching message, whose sequence must be higher than all earlier ones, as if it were acknowledged.
    mutating func skip(_ sequence: UInt64, member: MemberID, at time: CoarseTime) {
        guard sequence > position else { return }
        passedThrough = sequence
        if inFlight.isEmpty {
            position = sequence
        } else {
            inFlight.appendAcknowledged(sequence, member: member, at: time)
        }
    }

    /// Passes a matching message that moves to the redeliveries before its first delivery. Its sequence must be higher
    /// than all earlier ones.
    ///
    /// - Returns: False if the message was acknowledged in an earlier attachment or released, and is skipped.
    mutating func setAside(_ sequence: UInt64, member: MemberID, at time: CoarseTime) -> Bool {
        guard sequence > position else { return false }
        skip(sequence, member: member, at: time)
        return !acknowledgedBefore.containsSequence(sequence)
    }

    /// Records that every matching message up to `sequence` was delivered or acknowledged.
    mutating func passed(through sequence: UInt64) {
        passedThrough = max(passedThrough, sequence)
        if inFlight.isEmpty { position = max(position, passedThrough) }
    }

    /// Acknowledges those messages in the ranges that were delivered to the member.
    ///
    /// - Parameter ranges: Ascending and disjoint.
    /// - Returns: The number of messages that were not acknowledged before.
    mutating func acknowledged(_ ranges: [SequenceRange], member: MemberID) -> Int {
        var count = 0
        for range in ranges where range.last > position {
            count += inFlight.acknowledge(range, member: member)
        }
        advance()
        return count
    }

    private mutating func advance() {
        inFlight.removeAcknowledged()
        position = max(position, inFlight.oldest.map { $0 - 1 } ?? passedThrough)
    }

    // MARK: Taking out

    /// Takes out a message that is in flight to a member. The cursor passes the message.
    mutating func take(_ sequence: UInt64, from member: MemberID) -> InFlightMessages.Taken? {
        defer { advance() }
        return inFlight.take(sequence, from: member)
    }

    /// Takes out the oldest message in flight. The cursor passes the message.
    mutating func takeOldest() -> InFlightMessages.Taken? {
        defer { advance() }
        return inFlight.takeOldest()
    }

    /// Takes out a message in flight. The cursor passes the message.
    mutating func take(_ sequence: UInt64) -> InFlightMessages.Taken? {
        defer { advance() }
        return inFlight.take(sequence)
    }

    /// Takes out the oldest messages after a sequence that are in flight to one of several members. The cursor passes
    /// the messages.
    mutating func takeAll(
        from members: Set<MemberID>, after sequence: UInt64, maximumCount: Int, maximumSearched: Int
    ) -> InFlightMessages.Found {
        defer { advance() }
        return inFlight.takeAll(
            from: members, after: sequence, maximumCount: maximumCount, maximumSearched: maximumSearched)
    }

    // MARK: Skipping

    /// Skips the messages up to a sequence, as if all of them were acknowledged.
    ///
    /// - Returns: For each member, the number of skipped messages that were delivered to it and not acknowledged.
    mutating func released(through sequence: UInt64) -> [MemberID: Int] {
        guard sequence > position else { return [:] }
        let counts = inFlight.remove(through: sequence)
        inFlight.removeAcknowledged()
        passedThrough = max(passedThrough, sequence)
        position = max(sequence, inFlight.oldest.map { $0 - 1 } ?? passedThrough)
        return counts
    }

    /// The state of a matching message, for a trace.
    func state(of sequence: UInt64) -> TraceEntry.State {
        if sequence <= position || acknowledgedBefore.containsSequence(sequence) { return .acknowledged }
        return switch inFlight.isAcknowledged(sequence) {
        case nil: .pending
        case false?: .inFlight
        case true?: .acknowledged
        }
    }

    /// Ends all attachments. The next one begins with the unacknowledged messages.
    mutating func rewind() {
        self = Cursor(progress(isAttached: false))
    }

    /// Forgets which messages above the position are acknowledged. No client may be attached.
    mutating func forgetRanges() {
        var progress = progress(isAttached: false)
        progress.acknowledged = []
        self = Cursor(progress)
    }

    /// The cursor after a reset. Messages that a client may have seen are still redeliveries.
    func reset(to position: UInt64) -> Cursor {
        Cursor(DurableProgress(cursor: position, seenThrough: seenThrough, generation: generation + 1))
    }

    /// The progress to persist.
    func progress(isAttached: Bool) -> DurableProgress {
        // Covers messages that the reader has not reached, and messages that it has passed without a delivery because
        // no member may receive them any more.
        let before = acknowledgedBefore.above(position)
        return DurableProgress(
            cursor: position, seenThrough: seenThrough, acknowledged: (inFlight.acknowledgedRanges + before).coalesced,
            generation: generation, isAttached: isAttached)
    }
}
