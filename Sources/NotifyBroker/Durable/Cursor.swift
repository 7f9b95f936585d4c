import NotifyLog
import NotifyWire

/// The position of a durable subscription in the log, and the messages in flight above it.
struct Cursor {
    /// Every matching message up to this sequence is acknowledged.
    private(set) var position: UInt64
    /// Every matching message up to this sequence was delivered or acknowledged. May be too low while the log reader is
    /// live, because a live reader does not report messages that do not match.
    private(set) var passedThrough: UInt64
    /// Every message up to this sequence may have been seen by a client.
    private(set) var seenThrough: UInt64
    /// The number of times the position was reset.
    let generation: UInt32
    /// Messages above the position that were delivered in this attachment, or were skipped because a client had
    /// acknowledged them in an earlier attachment.
    private(set) var inFlight = InFlightMessages()
    /// The sequences acknowledged in earlier attachments, above the position at which this attachment began: ascending
    /// and disjoint. Not a `RangeSet`, whose size the compiler does not know: each delivery copied the whole
    /// subscription then.
    private var acknowledgedBefore: [SequenceRange]
    /// The value of `seenThrough` when this attachment began.
    private var redeliverThrough: UInt64

    init(_ progress: DurableProgress) {
        position = progress.cursor
        passedThrough = progress.cursor
        seenThrough = progress.seenThrough
        redeliverThrough = progress.seenThrough
        generation = progress.generation
        acknowledgedBefore = progress.acknowledged.coalesced
    }

    /// The memory of messages in flight and of ranges acknowledged in earlier attachments, in bytes.
    var byteCount: Int {
        inFlight.byteCount + acknowledgedBefore.count * MemoryLayout<SequenceRange>.stride
    }

    // MARK: Delivering

    /// Whether a client may have seen the message in an earlier attachment.
    func isRedelivery(_ sequence: UInt64) -> Bool { sequence <= redeliverThrough }

    /// Records the delivery of a matching message to a member, unless the message is skipped.
    ///
    /// - Parameter sequence: The message's sequence, which must be higher than all earlier ones.
    /// - Returns: False if the message was acknowledged in an earlier attachment or released, and is skipped.
    mutating func take(_ sequence: UInt64, member: MemberID) -> Bool {
        // A message that was released while the reader was at an earlier one.
        guard sequence > position else { return false }
        passedThrough = sequence
        if !acknowledgedBefore.isEmpty, acknowledgedBefore.containsSequence(sequence) {
            if inFlight.isEmpty {
                position = sequence
            } else {
                inFlight.append(sequence, member: member, isAcknowledged: true)
            }
            return false
        }
        if inFlight.isEmpty { position = max(position, sequence - 1) }
        inFlight.append(sequence, member: member)
        seenThrough = max(seenThrough, sequence)
        return true
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
        inFlight.removeAcknowledged()
        position = max(position, inFlight.oldest.map { $0 - 1 } ?? passedThrough)
        return count
    }

    /// Skips the messages up to a sequence, as if all of them were acknowledged.
    ///
    /// - Returns: The number of skipped messages that were delivered in this attachment and not acknowledged.
    mutating func released(through sequence: UInt64) -> Int {
        guard sequence > position else { return 0 }
        let count = inFlight.remove(through: sequence)
        inFlight.removeAcknowledged()
        passedThrough = max(passedThrough, sequence)
        position = max(sequence, inFlight.oldest.map { $0 - 1 } ?? passedThrough)
        return count
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

    /// Ends the attachment. The next attachment begins with the unacknowledged messages.
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
        let before = acknowledgedBefore.above(passedThrough)
        return DurableProgress(
            cursor: position, seenThrough: seenThrough, acknowledged: inFlight.acknowledgedRanges + before,
            generation: generation, isAttached: isAttached)
    }
}
