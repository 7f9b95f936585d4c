import Algorithms
import DequeModule
import NotifyWire

/// The messages delivered to a durable subscription and which of them are acknowledged, across all of its attachments.
///
/// The sequences of first deliveries rise. Redeliveries arrive in any order, and with several members of a group some
/// sequences go to another client. So the state of each sequence is tracked separately. Acknowledgements name only
/// messages delivered on the present attachment, because the daemon accepts no others.
struct AcknowledgementState {
    /// The action for a delivery.
    enum Disposition: Equatable {
        /// Pass it to the consumer.
        case new
        /// Discard it: the message is in the buffer or was passed to the consumer, and is not acknowledged.
        case duplicate
        /// Discard it and acknowledge it again: the consumer acknowledged it, but the daemon did not receive the
        /// acknowledgement.
        case acknowledged
        /// The daemon delivered more messages than the window allows.
        case overrun
    }

    /// The maximum number of ranges in `unconfirmed`; the lowest are evicted first.
    ///
    /// A running daemon has processed all but the last `window` acknowledgements of a connection; otherwise it would
    /// not have delivered more messages. A daemon that crashed may also have lost recent acknowledgements that its log
    /// had not flushed. A message whose acknowledgement was evicted is passed to the consumer again, marked as
    /// redelivered.
    static let maximumUnconfirmedRanges = Int(Limits.maximumWindow)

    /// Delivered on this attachment and not acknowledged, in rising order.
    private var outstanding: Deque<UInt64> = []
    /// Delivered on an earlier attachment but not on this one, and not acknowledged, in rising order.
    private var carriedOver: Deque<UInt64> = []
    /// Acknowledgements to send on this attachment.
    private var pending = SequenceSet()
    /// Acknowledgements that were sent but that the daemon may not have processed, and acknowledgements that cannot be
    /// sent yet.
    private var unconfirmed = SequenceSet()
    /// The highest sequence delivered in this `epoch`, or the cursor at an attachment if the cursor is higher.
    private(set) var deliveredThrough: UInt64 = 0
    /// The daemon's generation at the last attachment; nil before the first.
    private var generation: UInt64?
    /// The epoch of the daemon's log at the last attachment.
    private var logEpoch: UInt64 = 0
    /// Counts the generations of the cursor that this client has seen. Acknowledgements of messages delivered under an
    /// earlier generation have no effect.
    private(set) var epoch: UInt32 = 0
    private var isClosed = false
    private let maximumUnacknowledged: Int

    init(window: Int) {
        // Messages carried over a reconnect may no longer count towards the daemon's window, for example because
        // another client has acknowledged them.
        maximumUnacknowledged = 2 * window
    }

    var unacknowledgedCount: Int { outstanding.count + carriedOver.count }
    var hasPending: Bool { !pending.isEmpty }
}

// MARK: - Attachments

extension AcknowledgementState {
    /// The subscription was attached.
    ///
    /// - Parameters:
    ///   - cursor: The sequence up to which every message is acknowledged.
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
        if isNewGeneration {
            epoch &+= 1
            carriedOver.removeAll()
            unconfirmed.removeAll()
            deliveredThrough = cursor
        } else {
            while let first = carriedOver.first, first <= cursor { carriedOver.removeFirst() }
            unconfirmed.removeAll(through: cursor)
            deliveredThrough = max(deliveredThrough, cursor)
        }
        return isNewGeneration
    }

    /// The connection was lost. Acknowledgements that the daemon has not processed are sent again when the daemon
    /// redelivers their messages.
    mutating func connectionLost() {
        addUnconfirmed(pending)
        pending.removeAll()
        guard !outstanding.isEmpty else { return }
        carriedOver = carriedOver.isEmpty ? outstanding : Deque((Array(carriedOver) + Array(outstanding)).sorted())
        outstanding.removeAll()
    }

    /// The subscription was left: later acknowledgements have no effect.
    mutating func close() {
        isClosed = true
        outstanding.removeAll()
        carriedOver.removeAll()
        pending.removeAll()
        unconfirmed.removeAll()
    }

    private mutating func addUnconfirmed(_ sequences: SequenceSet) {
        unconfirmed.formUnion(sequences)
        unconfirmed.keepHighest(Self.maximumUnconfirmedRanges)
    }
}

// MARK: - Deliveries and acknowledgements

extension AcknowledgementState {
    mutating func delivered(_ sequence: UInt64) -> Disposition {
        guard sequence > deliveredThrough else { return deliveredOutOfOrder(sequence) }
        guard unacknowledgedCount < maximumUnacknowledged else { return .overrun }
        outstanding.append(sequence)
        deliveredThrough = sequence
        return .new
    }

    /// A redelivery, or the first delivery to this client of a message that another member of the group received
    /// before.
    private mutating func deliveredOutOfOrder(_ sequence: UInt64) -> Disposition {
        if carriedOver.removeSorted(sequence) {
            outstanding.insertSorted(sequence)
            return .duplicate
        }
        if outstanding.containsSorted(sequence) { return .duplicate }
        if pending.contains(sequence) { return .acknowledged }
        if unconfirmed.contains(sequence) {
            pending.insert(sequence)
            return .acknowledged
        }
        guard unacknowledgedCount < maximumUnacknowledged else { return .overrun }
        outstanding.insertSorted(sequence)
        return .new
    }

    /// Acknowledges a message that was delivered in the given `epoch`.
    ///
    /// - Returns: Whether this acknowledgement must be sent and no other was pending.
    mutating func acknowledge(_ sequence: UInt64, epoch: UInt32) -> Bool {
        guard !isClosed, epoch == self.epoch else { return false }
        if outstanding.removeSorted(sequence) {
            let hadPending = hasPending
            pending.insert(sequence)
            return !hadPending
        }
        if carriedOver.removeSorted(sequence) {
            unconfirmed.insert(sequence)
            unconfirmed.keepHighest(Self.maximumUnconfirmedRanges)
        }
        return false
    }

    /// Takes the acknowledgements to send, and remembers them.
    mutating func takePending() -> [SequenceRange] {
        defer { pending.removeAll() }
        addUnconfirmed(pending)
        return Array(pending.ranges)
    }
}

extension Deque<UInt64> {
    fileprivate func containsSorted(_ sequence: UInt64) -> Bool {
        let index = firstIndex(notBelow: sequence)
        return index < count && self[index] == sequence
    }

    fileprivate mutating func insertSorted(_ sequence: UInt64) {
        if let last, last > sequence { insert(sequence, at: firstIndex(notBelow: sequence)) } else { append(sequence) }
    }

    /// Removes a sequence.
    ///
    /// - Returns: Whether the sequence was present.
    fileprivate mutating func removeSorted(_ sequence: UInt64) -> Bool {
        // Fast path: consumers usually acknowledge the oldest message first.
        if first == sequence {
            removeFirst()
            return true
        }
        let index = firstIndex(notBelow: sequence)
        guard index < count, self[index] == sequence else { return false }
        remove(at: index)
        return true
    }

    private func firstIndex(notBelow sequence: UInt64) -> Int {
        partitioningIndex { $0 >= sequence }
    }
}
