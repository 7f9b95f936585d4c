import NotifyLog
import NotifyWire

/// How far a durable subscription has come: what is persisted of it.
struct Cursor {
    /// Every matching message up to here is acknowledged.
    private(set) var position: UInt64
    /// Every matching message up to here was handed over, or is acknowledged. Trails while the reader is live.
    private(set) var passedThrough: UInt64
    /// Every message up to here may have been seen.
    private(set) var seenThrough: UInt64
    /// Counts the resets of the position.
    let generation: UInt32
    /// Handed over in this attachment and above the position.
    private(set) var inFlight = InFlightMessages()
    /// Acknowledged in earlier attachments, above the position at which this one began.
    private var acknowledgedBefore: RangeSet<UInt64>
    /// What was `seenThrough` when this attachment began.
    private var redeliverThrough: UInt64

    init(_ progress: DurableProgress) {
        position = progress.cursor
        passedThrough = progress.cursor
        seenThrough = progress.seenThrough
        redeliverThrough = progress.seenThrough
        generation = progress.generation
        acknowledgedBefore = RangeSet(progress.acknowledged)
    }

    /// The memory of what is in flight or was acknowledged out of order.
    var byteCount: Int {
        inFlight.byteCount + acknowledgedBefore.ranges.count * MemoryLayout<Range<UInt64>>.stride
    }

    // MARK: Handing over

    /// Whether a message that is handed over now may have been seen before.
    func isRedelivery(_ sequence: UInt64) -> Bool { sequence <= redeliverThrough }

    /// A matching message above all others is about to be handed to a member. Returns false for one that was
    /// acknowledged in an earlier attachment, which is passed over.
    mutating func take(_ sequence: UInt64, member: MemberID) -> Bool {
        passedThrough = sequence
        if !acknowledgedBefore.isEmpty, acknowledgedBefore.contains(sequence) {
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

    /// Every matching message up to here was handed over or acknowledged.
    mutating func passed(through sequence: UInt64) {
        passedThrough = max(passedThrough, sequence)
        if inFlight.isEmpty { position = max(position, passedThrough) }
    }

    /// A member acknowledged the ranges, which rise and do not overlap. Acts on what that member was handed, and returns
    /// how many messages that were.
    mutating func acknowledged(_ ranges: [SequenceRange], member: MemberID) -> Int {
        var count = 0
        for range in ranges where range.last > position {
            count += inFlight.acknowledge(range, member: member)
        }
        inFlight.removeAcknowledged()
        position = max(position, inFlight.oldest.map { $0 - 1 } ?? passedThrough)
        return count
    }

    /// The attachment ended: what was handed over and not acknowledged is handed over again.
    mutating func rewind() {
        self = Cursor(progress(isAttached: false))
    }

    /// What the log keeps.
    func progress(isAttached: Bool) -> DurableProgress {
        let before = acknowledgedBefore.sequenceRanges(above: passedThrough)
        return DurableProgress(
            cursor: position, seenThrough: seenThrough, acknowledged: inFlight.acknowledgedRanges + before,
            generation: generation, isAttached: isAttached)
    }
}
