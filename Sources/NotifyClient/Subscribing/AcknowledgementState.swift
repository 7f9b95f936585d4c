import DequeModule
import NotifyWire

/// The messages delivered to a durable subscription and their answers, across all of its attachments.
///
/// The sequences of first deliveries rise. Redeliveries arrive in any order, and with several members of a group some
/// sequences go to another client. So the state of each sequence is tracked separately. Answers name only messages
/// delivered on the present attachment, because the daemon accepts no others.
///
/// A message that is rejected or given back is no longer held: its redelivery is passed to the consumer. A message
/// whose deadline has passed is delivered again under a higher number. This redelivery is passed to the consumer, too,
/// although the consumer still has the message.
struct AcknowledgementState {
    /// The maximum number of ranges in `unconfirmed`. The lowest ranges are evicted first.
    ///
    /// A running daemon has processed all but the last `window` acknowledgements of a connection; otherwise it would
    /// not have delivered more messages. A daemon that crashed may also have lost recent acknowledgements that its log
    /// had not flushed. A message whose acknowledgement was evicted is passed to the consumer again, marked as
    /// redelivered.
    static let maximumUnconfirmedRanges = Int(Limits.maximumWindow)

    /// Messages delivered on this attachment and not answered, in ascending order.
    var outstanding: Deque<UInt64> = []
    /// The delivery numbers and copies of messages in `outstanding` and `carriedOver`. Most messages have no entry.
    var copies: [UInt64: Copies] = [:]
    /// The sum of the extra copies.
    var extraCopies = 0
    /// Messages to reject or give back on this attachment.
    var pendingRejections: [Rejection] = []
    /// The deadlines to extend on this attachment, in microseconds from now on, by sequence.
    var pendingExtensions: [UInt64: UInt64] = [:]
    /// Messages delivered on an earlier attachment but not on this one, and not answered, in ascending order.
    var carriedOver: Deque<UInt64> = []
    /// Acknowledgements to send on this attachment.
    private var pending = SequenceSet()
    /// Acknowledgements that were sent on this attachment. If the daemon redelivers one of their messages, for example
    /// because its dead letter is retried, the message is for the consumer.
    private var sent = SequenceSet()
    /// Acknowledgements of earlier attachments that were not sent or might not have been processed.
    private var unconfirmed = SequenceSet()
    /// The acknowledgements in `unconfirmed` that were never sent, because the connection was lost first.
    private var unsent = SequenceSet()
    /// The number of acknowledgements that were sent after the last addition to `unsent`.
    private var sentSinceUnsent = 0
    /// The cursor at the last attachment.
    private var cursor: UInt64 = 0
    /// The highest sequence delivered in this `epoch`, or the cursor at an attachment if the cursor is higher.
    private(set) var deliveredThrough: UInt64 = 0
    /// `deliveredThrough` at the last extension of deadlines.
    var heldThrough: UInt64 = 0
    /// The generation of the daemon's cursor at the last attachment; nil before the first attachment.
    private var generation: UInt64?
    /// The epoch of the daemon's log at the last attachment.
    private var logEpoch: UInt64 = 0
    /// The number of times that the generation has changed since the first attachment. Acknowledgements of messages
    /// delivered under an earlier generation have no effect.
    private(set) var epoch: UInt32 = 0
    var isClosed = false
    private let maximumUnacknowledged: Int
    /// The handlers of the subscription; nil if its consumer reads the messages itself.
    var handlers: Handlers?

    init(window: Int, hasHandlers: Bool = false) {
        if hasHandlers { handlers = Handlers() }
        // Messages carried over a reconnect may no longer count towards the daemon's window, for example because
        // another client has acknowledged them.
        maximumUnacknowledged = 2 * window
    }

    /// Whether the daemon has not received recent acknowledgements, because the connection was lost first.
    var hasUnsent: Bool { !unsent.isEmpty }

    /// The lowest acknowledgement that the daemon has not received; nil if there is none.
    var firstUnsent: UInt64? { unsent.ranges.first?.first }

    /// Must be called when a message no longer needs its unsent acknowledgement.
    mutating func settled(_ sequence: UInt64) {
        unsent.remove(sequence)
    }

    var unacknowledgedCount: Int { outstanding.count + carriedOver.count }
    var hasPending: Bool {
        !pending.isEmpty || !pendingRejections.isEmpty || !pendingExtensions.isEmpty || (handlers?.ended ?? 0) > 0
    }
}

// MARK: - Attachments

extension AcknowledgementState {
    /// Must be called when the subscription was attached.
    ///
    /// - Parameters:
    ///   - cursor: The sequence up to which every message is acknowledged, dropped, or waits for its redelivery.
    ///   - generation: The generation of the daemon's cursor.
    ///   - logEpoch: The epoch of the daemon's log; 0 if unknown.
    ///   - isResumed: Whether the durable subscription already existed.
    /// - Returns: Whether the generation is new, because the subscription was removed and created again, its cursor was
    ///   reset, or a backup replaced the log. The state of the earlier generation is then discarded.
    mutating func attached(cursor: UInt64, generation: UInt64, logEpoch: UInt64 = 0, isResumed: Bool) -> Bool {
        let isNewLog = logEpoch != 0 && self.logEpoch != 0 && logEpoch != self.logEpoch
        let isNewGeneration = self.generation.map { $0 != generation || isNewLog || !isResumed } ?? false
        self.generation = generation
        if logEpoch != 0 { self.logEpoch = logEpoch }
        connectionLost()
        self.cursor = cursor
        if isNewGeneration {
            epoch &+= 1
            heldThrough = 0
            for sequence in handlers?.waiting.keys.sorted() ?? [] { stopWaiting(sequence) }
            carriedOver.removeAll()
            forgetCopies()
            unconfirmed.removeAll()
            unsent.removeAll()
            deliveredThrough = cursor
        } else {
            // The cursor does not show which messages and acknowledgements can be forgotten: the cursor also passes
            // failed messages, which are delivered again. The loss of a member's connection is such a failure.
            deliveredThrough = max(deliveredThrough, cursor)
        }
        return isNewGeneration
    }

    /// Must be called when the connection was lost. Acknowledgements that the daemon has not processed are sent again
    /// when their messages are redelivered. Other answers are dropped: the daemon has taken the messages back.
    mutating func connectionLost() {
        pendingRejections.removeAll()
        pendingExtensions.removeAll()
        forgetWaiting()
        addUnsent(pending)
        addUnconfirmed(sent)
        sent.removeAll()
        pending.removeAll()
        guard !outstanding.isEmpty else { return }
        carriedOver = carriedOver.isEmpty ? outstanding : Deque((Array(carriedOver) + Array(outstanding)).sorted())
        outstanding.removeAll()
    }

    /// Must be called when the subscription was left. Later acknowledgements have no effect.
    mutating func close() {
        isClosed = true
        forgetCopies()
        pendingRejections.removeAll()
        pendingExtensions.removeAll()
        outstanding.removeAll()
        carriedOver.removeAll()
        pending.removeAll()
        sent.removeAll()
        unconfirmed.removeAll()
        unsent.removeAll()
        handlers?.waiting.removeAll()
    }

    private mutating func addUnsent(_ sequences: SequenceSet) {
        guard !sequences.isEmpty else { return }
        sentSinceUnsent = 0
        unsent.formUnion(sequences)
        unsent.keepHighest(Self.maximumUnconfirmedRanges)
        addUnconfirmed(sequences)
    }

    private mutating func addUnconfirmed(_ sequences: SequenceSet) {
        unconfirmed.formUnion(sequences)
        unconfirmed.keepHighest(Self.maximumUnconfirmedRanges)
    }
}

// MARK: - Deliveries and acknowledgements

extension AcknowledgementState {
    /// Records a delivery, and decides what to do with it.
    ///
    /// - Parameter delivery: The number of this delivery.
    mutating func delivered(_ sequence: UInt64, delivery: UInt32 = 1) -> Disposition {
        guard sequence > deliveredThrough else { return deliveredOutOfOrder(sequence, delivery) }
        if let refusal = refusal() { return refusal }
        outstanding.append(sequence)
        wait(sequence, delivery)
        if delivery != 1 { copies[sequence] = Copies(delivery: delivery, latest: delivery) }
        deliveredThrough = sequence
        return .new
    }

    /// Records a redelivery, or the first delivery to this client of a message that another member of the group
    /// received before.
    private mutating func deliveredOutOfOrder(_ sequence: UInt64, _ delivery: UInt32) -> Disposition {
        if carriedOver.removeSorted(sequence) {
            outstanding.insertSorted(sequence)
            if delivery != 1 || copies[sequence] != nil { copies[sequence, default: Copies()].latest = delivery }
            return .duplicate
        }
        if outstanding.containsSorted(sequence) { return deliveredAgain(sequence, delivery) }
        if pending.contains(sequence) { return .acknowledged }
        if unconfirmed.contains(sequence) {
            unconfirmed.remove(sequence)
            unsent.remove(sequence)
            pending.insert(sequence)
            return .acknowledged
        }
        if let refusal = refusal() { return refusal }
        sent.remove(sequence)
        outstanding.insertSorted(sequence)
        wait(sequence, delivery)
        if delivery != 1 { copies[sequence] = Copies(delivery: delivery, latest: delivery) }
        return .new
    }

    /// Records the repeated delivery of an unanswered message on this attachment. If the daemon has recorded another
    /// failure, the deadline of the message has passed.
    private mutating func deliveredAgain(_ sequence: UInt64, _ delivery: UInt32) -> Disposition {
        var known = copies[sequence] ?? Copies()
        if delivery != known.latest {
            known.latest = delivery
            copies[sequence] = known
        }
        guard delivery > known.delivery, extraCopies < maximumUnacknowledged, handlers?.isStopping != true else {
            return .duplicate
        }
        known.delivery = delivery
        known.extra += 1
        extraCopies += 1
        copies[sequence] = known
        wait(sequence, delivery, isAgain: true)
        return .new
    }

    /// The disposition of a message that the consumer must not receive; nil if it may receive the message. If there is
    /// no room, evicts the lowest message of an earlier attachment that the cursor has passed: another member may have
    /// processed it.
    private mutating func refusal() -> Disposition? {
        if handlers?.isStopping == true { return .stopped }
        if unacknowledgedCount >= maximumUnacknowledged, let first = carriedOver.first, first <= cursor {
            forgetAnswered(carriedOver.removeFirst())
        }
        return unacknowledgedCount < maximumUnacknowledged ? nil : .overrun
    }

    private mutating func forgetCopies(of sequence: UInt64) {
        guard !copies.isEmpty, let known = copies.removeValue(forKey: sequence) else { return }
        extraCopies -= known.extra
    }

    private mutating func forgetCopies() {
        copies.removeAll()
        extraCopies = 0
    }

    /// Acknowledges a message that was delivered in the given `epoch`.
    ///
    /// - Returns: Whether this acknowledgement must be sent and no other was pending.
    mutating func acknowledge(_ sequence: UInt64, epoch: UInt32) -> Bool {
        guard !isClosed, epoch == self.epoch else { return false }
        if outstanding.removeSorted(sequence) {
            let hadPending = hasPending
            forgetAnswered(sequence)
            pending.insert(sequence)
            return !hadPending
        }
        guard carriedOver.removeSorted(sequence) else { return false }
        let hadPending = hasPending
        forgetAnswered(sequence)
        var sequences = SequenceSet()
        sequences.insert(sequence)
        addUnsent(sequences)
        // The answer may have removed a delivery that waited for a handler, which makes credit pending.
        return !hadPending && hasPending
    }

    /// Takes the acknowledgements to send, and remembers them.
    mutating func takePending() -> [SequenceRange] {
        guard !pending.isEmpty else { return [] }
        defer { pending.removeAll() }
        forgetUnsent()
        sent.formUnion(pending)
        sent.keepHighest(Self.maximumUnconfirmedRanges)
        return Array(pending.ranges)
    }

    /// Forgets unsent acknowledgements once a whole window of later ones was sent. The end of the subscription must not
    /// report old ones as an error, because another member may have processed their messages.
    private mutating func forgetUnsent() {
        guard hasUnsent else { return }
        for range in pending.ranges { sentSinceUnsent += Int(clamping: range.last - range.first) + 1 }
        if sentSinceUnsent >= maximumUnacknowledged / 2 { unsent.removeAll() }
    }

    mutating func forgetAnswered(_ sequence: UInt64) {
        forgetCopies(of: sequence)
        stopWaiting(sequence)
        if !pendingExtensions.isEmpty { pendingExtensions[sequence] = nil }
    }
}
