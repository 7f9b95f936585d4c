import DequeModule
import NotifyWire

/// What a durable subscription was given and what of it is done with, through any number of connections.
///
/// Within a subscription, messages come in rising order, and after a reconnect again from the cursor on. So it is enough to
/// know how far deliveries went and which of those are not acknowledged: everything else below was acknowledged.
struct AcknowledgementState {
    /// What to do with a delivery.
    enum Verdict: Equatable {
        /// Not seen by this subscription before: give it to the consumer.
        case new
        /// The consumer has it, or will find it in the buffer, and has not acknowledged it.
        case held
        /// Acknowledged, but the daemon had not heard: it is told again.
        case acknowledged
        /// The daemon handed over more than the window allows.
        case overrun
    }

    /// Delivered, in rising order.
    private var unacknowledged: Deque<UInt64> = []
    /// The highest sequence ever delivered.
    private(set) var deliveredThrough: UInt64 = 0
    /// The highest sequence delivered on this connection, or the cursor at its start; nil without a connection. The daemon
    /// takes acknowledgements for no more than this.
    private var attachedThrough: UInt64?
    private var pending: [SequenceRange] = []
    private var isClosed = false
    private let maximumUnacknowledged: Int

    init(window: Int) {
        // What the consumer still holds from before a reconnect may have been passed by the cursor meanwhile, if another
        // client had the subscription.
        maximumUnacknowledged = 2 * window
    }

    var unacknowledgedCount: Int { unacknowledged.count }
    var hasPending: Bool { !pending.isEmpty }

    /// The subscription is attached. One that was made anew has nothing to do with what came before.
    mutating func attached(cursor: UInt64, isNew: Bool) {
        if isNew {
            unacknowledged.removeAll()
            deliveredThrough = 0
        }
        while let first = unacknowledged.first, first <= cursor { unacknowledged.removeFirst() }
        deliveredThrough = max(deliveredThrough, cursor)
        attachedThrough = cursor
        pending.removeAll()
    }

    /// The connection is gone. What was not sent, or not heard, is told again when it is delivered again.
    mutating func connectionLost() {
        attachedThrough = nil
        pending.removeAll()
    }

    /// The subscription is left: from here on nothing can be acknowledged.
    mutating func close() {
        isClosed = true
        unacknowledged.removeAll()
        pending.removeAll()
    }

    mutating func delivered(_ sequence: UInt64) -> Verdict {
        attachedThrough = max(attachedThrough ?? 0, sequence)
        if sequence > deliveredThrough {
            guard unacknowledged.count < maximumUnacknowledged else { return .overrun }
            unacknowledged.append(sequence)
            deliveredThrough = sequence
            return .new
        }
        let place = firstPlace(from: sequence)
        if place < unacknowledged.count, unacknowledged[place] == sequence { return .held }
        addPending(sequence, place: place)
        return .acknowledged
    }

    /// Answers whether there is now something to send, and was not before.
    mutating func acknowledge(_ sequence: UInt64) -> Bool {
        guard !isClosed else { return false }
        let place = unacknowledged.first == sequence ? 0 : firstPlace(from: sequence)
        guard place < unacknowledged.count, unacknowledged[place] == sequence else { return false }
        if place == 0 { unacknowledged.removeFirst() } else { unacknowledged.remove(at: place) }
        guard let attachedThrough, sequence <= attachedThrough else { return false }
        let hadPending = hasPending
        addPending(sequence, place: place)
        return !hadPending
    }

    /// Takes out what is to be sent.
    mutating func takePending() -> [SequenceRange] {
        defer { pending.removeAll(keepingCapacity: true) }
        return pending
    }

    /// Adds to what is to be sent. Everything delivered between the unacknowledged neighbours of `sequence` is
    /// acknowledged, so a range may grow over all of it.
    private mutating func addPending(_ sequence: UInt64, place: Int) {
        if let last = pending.last {
            let below = place > 0 ? unacknowledged[place - 1] : 0
            let above = place < unacknowledged.count ? unacknowledged[place] : .max
            if last.last < sequence, last.last > below {
                pending[pending.count - 1].last = sequence
                return
            }
            if last.first > sequence, last.first < above {
                pending[pending.count - 1].first = sequence
                return
            }
        }
        pending.append(SequenceRange(first: sequence, last: sequence))
    }

    /// The first place whose sequence is not below the given one.
    private func firstPlace(from sequence: UInt64) -> Int {
        var (low, high) = (0, unacknowledged.count)
        while low < high {
            let middle = (low + high) / 2
            if unacknowledged[middle] < sequence { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
