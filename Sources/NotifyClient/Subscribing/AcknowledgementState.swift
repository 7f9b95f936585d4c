import Algorithms
import DequeModule
import NotifyWire

/// The messages that a durable subscription was handed and which of them are acknowledged, across all of its attachments.
///
/// First deliveries rise; redeliveries come in any order, and with several members of a group some sequences go to another
/// client. So this is a set: nothing follows for a sequence from those around it. An acknowledgement names only messages
/// that were handed over on the present attachment, since the daemon knows no others.
struct AcknowledgementState {
    /// What to do with a delivery.
    enum Verdict: Equatable {
        /// Give it to the consumer.
        case new
        /// The consumer has it, or will find it in the buffer, and has not acknowledged it.
        case held
        /// The consumer acknowledged it and the daemon had not heard of that: it is acknowledged again.
        case acknowledged
        /// The daemon handed over more than the window allows.
        case overrun
    }

    /// Ranges of acknowledged sequences that are remembered at most; the lowest are forgotten first.
    ///
    /// While a daemon lives it has processed all but the last `window` acknowledgements of a connection, or it would not have
    /// handed over more. A daemon that crashed may also have lost those of the last moments before, which its log had not
    /// flushed. A message whose acknowledgement was forgotten is given to the consumer again, marked as redelivered.
    static let rememberedRanges = Int(Limits.maximumWindow)

    /// Handed over on this attachment and not acknowledged, in rising order.
    private var held: Deque<UInt64> = []
    /// Handed over on an earlier attachment but not on this one, and not acknowledged, in rising order.
    private var carried: Deque<UInt64> = []
    /// Acknowledgements to send on this attachment.
    private var pending = SequenceSet()
    /// Acknowledgements that were sent, or not yet possible to send, and that the daemon may not know.
    private var remembered = SequenceSet()
    /// The highest sequence handed over in this life, or the cursor at an attachment.
    private(set) var deliveredThrough: UInt64 = 0
    /// The daemon's generation at the last attachment; nil before the first.
    private var generation: UInt64?
    /// Distinguishes the lives of the subscription: an acknowledgement of a message from an earlier life has no effect.
    private(set) var life: UInt32 = 0
    private var isClosed = false
    private let maximumUnacknowledged: Int

    init(window: Int) {
        // What the consumer still holds from before a reconnect may have been passed by the cursor meanwhile, if another
        // client had the subscription.
        maximumUnacknowledged = 2 * window
    }

    var unacknowledgedCount: Int { held.count + carried.count }
    var hasPending: Bool { !pending.isEmpty }
}

// MARK: - Attachments

extension AcknowledgementState {
    /// The subscription was attached.
    ///
    /// - Parameters:
    ///   - cursor: Every message up to here is done with.
    ///   - generation: The daemon's number for this life of the cursor.
    ///   - isResumed: Whether the durable subscription existed before.
    /// - Returns: Whether a new life began: the subscription had been removed, or its cursor was reset. Everything
    ///   remembered of the earlier one is discarded.
    mutating func attached(cursor: UInt64, generation: UInt64, isResumed: Bool) -> Bool {
        let isNewLife = self.generation.map { $0 != generation || !isResumed } ?? false
        self.generation = generation
        connectionLost()
        if isNewLife {
            life &+= 1
            carried.removeAll()
            remembered.removeAll()
            deliveredThrough = cursor
        } else {
            while let first = carried.first, first <= cursor { carried.removeFirst() }
            remembered.removeAll(through: cursor)
            deliveredThrough = max(deliveredThrough, cursor)
        }
        return isNewLife
    }

    /// The connection was lost. What was not sent, or not processed, is sent again when the message is delivered again.
    mutating func connectionLost() {
        remember(pending)
        pending.removeAll()
        guard !held.isEmpty else { return }
        carried = carried.isEmpty ? held : Deque((Array(carried) + Array(held)).sorted())
        held.removeAll()
    }

    /// The subscription is left: nothing can be acknowledged any more.
    mutating func close() {
        isClosed = true
        held.removeAll()
        carried.removeAll()
        pending.removeAll()
        remembered.removeAll()
    }

    private mutating func remember(_ sequences: SequenceSet) {
        remembered.formUnion(sequences)
        remembered.keepHighest(Self.rememberedRanges)
    }
}

// MARK: - Deliveries and acknowledgements

extension AcknowledgementState {
    mutating func delivered(_ sequence: UInt64) -> Verdict {
        guard sequence > deliveredThrough else { return deliveredOutOfOrder(sequence) }
        guard unacknowledgedCount < maximumUnacknowledged else { return .overrun }
        held.append(sequence)
        deliveredThrough = sequence
        return .new
    }

    /// A redelivery, or the first delivery of a message that another member of the group was handed before.
    private mutating func deliveredOutOfOrder(_ sequence: UInt64) -> Verdict {
        if carried.removeSorted(sequence) {
            held.insertSorted(sequence)
            return .held
        }
        if held.containsSorted(sequence) { return .held }
        if pending.contains(sequence) { return .acknowledged }
        if remembered.contains(sequence) {
            pending.insert(sequence)
            return .acknowledged
        }
        guard unacknowledgedCount < maximumUnacknowledged else { return .overrun }
        held.insertSorted(sequence)
        return .new
    }

    /// Acknowledges a message that was delivered in the given life.
    ///
    /// - Returns: Whether there is something to send now and was not before.
    mutating func acknowledge(_ sequence: UInt64, life: UInt32) -> Bool {
        guard !isClosed, life == self.life else { return false }
        if held.removeSorted(sequence) {
            let hadPending = hasPending
            pending.insert(sequence)
            return !hadPending
        }
        if carried.removeSorted(sequence) {
            remembered.insert(sequence)
            remembered.keepHighest(Self.rememberedRanges)
        }
        return false
    }

    /// Takes out the acknowledgements to be sent.
    mutating func takePending() -> [SequenceRange] {
        defer { pending.removeAll() }
        remember(pending)
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

    /// Returns whether the sequence was there.
    fileprivate mutating func removeSorted(_ sequence: UInt64) -> Bool {
        // Consumers acknowledge the oldest first.
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
