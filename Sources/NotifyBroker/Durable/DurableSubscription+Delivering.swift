import NotifyLog
import NotifyWire

/// Deliveries to members, and the room for them.
extension DurableSubscription {
    /// The maximum span, as a multiple of the members' windows: see ``span``.
    private static let spanWindows = 8
    /// The maximum span in addition to the members' windows. Limits the acknowledged ranges to persist.
    private static let maximumSpan = 8_192

    /// The maximum number of successive first deliveries while redeliveries are due.
    private static let maximumFirstTurn = 256
    /// The maximum span regardless of the windows. The redeliveries have room for so many messages, even if all of them
    /// fail.
    private static let maximumFirstDeliveries = 65_536

    /// The maximum number of messages in flight for the first time, including acknowledged ones above the cursor.
    var span: Int {
        min(_members.window * Self.spanWindows, _members.window + Self.maximumSpan, Self.maximumFirstDeliveries)
    }

    /// Whether further first deliveries must wait until the oldest message in flight is finished or moves to the
    /// redeliveries.
    var isSpanFull: Bool { _cursor.inFlight.count >= span }

    /// Whether the span is full although later messages are acknowledged, so that the members could receive more.
    var isHeldUp: Bool { isSpanFull && _members.unacknowledged < span }

    /// The number of messages that may be delivered for the first time now.
    var room: Int {
        let room = min(deliverable, span - _cursor.inFlight.count)
        guard hasRoomForCopy else { return 0 }
        return _redeliveries.dueCount > 0 && !areRedeliveriesWithheld ? min(room, firstDeliveries) : room
    }

    /// Whether the redeliveries have room for a further message, even if it and all messages in flight for the first
    /// time fail.
    @inline(__always)
    var hasRoomForCopy: Bool {
        !_redeliveries.isFull(withInFlight: _cursor.inFlight.count, bytes: _cursor.inFlight.bytes)
    }

    /// The number of messages that may be delivered again now.
    var redeliveryRoom: Int { deliverable }

    @inline(__always)
    private var deliverable: Int {
        guard settings.maximumInFlight > 0 else { return _members.room }
        return min(_members.room, max(0, Int(settings.maximumInFlight) - _members.unacknowledged))
    }

    /// Records the first delivery of a matching message to a member, unless the message is skipped.
    ///
    /// - Parameters:
    ///   - sequence: The message's sequence, which must be higher than all earlier ones.
    ///   - bytes: The size of the message's frame.
    /// - Returns: False if the message is skipped: it was acknowledged in an earlier attachment, was released, or is
    ///   among the redeliveries.
    @inline(__always)
    mutating func take(_ sequence: UInt64, bytes: UInt32, for index: Int, at time: CoarseTime) -> Bool {
        guard let id = _members.id(at: index) else { return false }
        // The message was delivered before a reset of the cursor, and is among the redeliveries because its dead letter
        // was retried.
        if !_redeliveries.isEmpty, _redeliveries.state(of: sequence) != nil {
            _cursor.skip(sequence, member: id, at: time)
            return false
        }
        guard _cursor.take(sequence, bytes: bytes, member: id, at: time) else { return false }
        _members.delivered(through: sequence, to: index)
        if firstDeliveries > 0 { firstDeliveries -= 1 }
        return true
    }

    /// Records the first deliveries of several matching messages to the candidate, which must have room for one
    /// message. If there is no room for all, only the oldest are taken. Decisions that are the same for all messages
    /// are made once.
    ///
    /// - Parameter entries: The messages. Their sequences must be higher than all earlier ones.
    /// - Returns: The number of messages; 0 if they must be taken one by one.
    mutating func take(_ entries: ArraySlice<LogBlock.Entry>, for index: Int, at time: CoarseTime) -> Int {
        guard _redeliveries.isEmpty, let id = _members.id(at: index) else { return 0 }
        let entries = entries.prefix(min(room, _members.turnRoom))
        let bytes = entries.reduce(0) { $0 + Int($1.length) }
        guard let last = entries.last?.sequence,
            !_redeliveries.isFull(
                withInFlight: _cursor.inFlight.count + entries.count, bytes: _cursor.inFlight.bytes + bytes),
            _cursor.take(entries, bytes: bytes, member: id, at: time)
        else { return 0 }
        _members.delivered(entries.count, through: last, to: index)
        firstDeliveries = max(0, firstDeliveries - entries.count)
        return entries.count
    }

    /// Moves a matching message to the redeliveries before its first delivery and without a failure, because no member
    /// with room may receive the message. The cursor passes the message.
    ///
    /// - Parameters:
    ///   - sequence: The message's sequence, which must be higher than all earlier ones.
    ///   - bytes: The size of the message's frame.
    ///   - index: The index of any member.
    mutating func withhold(
        _ sequence: UInt64, bytes: UInt32, rights: MessageRights, at time: CoarseTime, _ index: Int
    ) {
        guard let id = _members.id(at: index), _cursor.setAside(sequence, member: id, at: time),
            _redeliveries.state(of: sequence) == nil
        else { return }
        _redeliveries.addWithheld(sequence, bytes: bytes, rights)
    }

    /// Records the redelivery of a message to a member.
    ///
    /// - Returns: The attachment that receives the message; nil if the message is finished.
    mutating func redeliver(_ sequence: UInt64, to index: Int, now: Duration) -> Attachment? {
        guard let member = _members[index],
            _redeliveries.delivered(sequence, to: member.id, deadline: deadline(from: now))
        else { return nil }
        _members.delivered(through: sequence, to: index)
        firstDeliveries = min(firstDeliveries + 1, Self.maximumFirstTurn)
        return member.attachment
    }

    /// The deadline of a message that is delivered at a given time; nil if the settings have none.
    // Inlined, so that the caller need not copy the subscription.
    @inline(__always)
    func deadline(from now: Duration) -> Duration? {
        settings.deadlineMicroseconds == 0 ? nil : now + .microseconds(Int64(settings.deadlineMicroseconds))
    }

    /// Records that every matching message up to `sequence` was delivered or acknowledged.
    mutating func passed(through sequence: UInt64) {
        _cursor.passed(through: sequence)
    }

    // MARK: The cursor

    /// Every matching message up to this sequence is acknowledged or skipped, or has moved to the redeliveries.
    var position: UInt64 { _cursor.position }

    /// The sequence after which the log is to be read.
    var readPosition: UInt64 { _cursor.readPosition }

    /// The number of times the position was reset.
    var cursorGeneration: UInt32 { _cursor.generation }

    /// A client may have seen any message up to this sequence.
    var seenThrough: UInt64 { _cursor.seenThrough }

    /// Whether a client may have seen the message in an earlier attachment.
    @inline(__always)
    func isRedelivery(_ sequence: UInt64) -> Bool { _cursor.isRedelivery(sequence) }

    /// Whether messages are in flight for the first time.
    var hasFirstDeliveries: Bool { !_cursor.inFlight.isEmpty }

    /// The number of visits of messages in flight for the first time, as a measure of work.
    var firstDeliveryWork: Int { _cursor.inFlight.work }

    /// Whether a message is in flight or waits for a redelivery.
    func isUnfinished(_ sequence: UInt64) -> Bool {
        _redeliveries.state(of: sequence) != nil || _cursor.state(of: sequence) == .inFlight
    }

    /// The state of a matching message, for a trace.
    func traceState(of sequence: UInt64) -> TraceEntry.State {
        if sequence <= startedAfter { return .beforeStart }
        return switch _redeliveries.state(of: sequence) {
        case nil: _cursor.state(of: sequence)
        case .inFlight?: .inFlight
        case .waiting?, .due?, .reading?: .waiting
        case .dead?, .deadLettering?: .deadLetter
        }
    }
}
