import DequeModule

/// The durable subscriptions that need copies of messages to be read: for redeliveries, for the rights to them, or for
/// dead letters. One subscription's copies are read at a time.
struct RedeliveryReads {
    enum Purpose {
        case delivery
        /// To evaluate the rights to the messages while no client is attached.
        case rights
        case deadLetters
    }

    struct Read {
        let slot: DurableSlot
        let purpose: Purpose
        let sequences: [UInt64]
    }

    private var queue: Deque<DurableSlot> = []
    private var queued: Set<DurableSlot> = []
    /// Subscriptions that wait because reading or storing failed, or because there was no room. ``retry()`` lets them
    /// continue.
    private var retrying: Deque<DurableSlot> = []
    private var areRetrying: Set<DurableSlot> = []
    /// Those of the waiting subscriptions that make no dead letters meanwhile. The others lack only room for more
    /// copies.
    private var areFailed: Set<DurableSlot> = []
    /// The number of subscriptions in `retrying` that may continue. They alternate with the queue.
    private var retriesLeft = 0
    private var isQueuesTurn = false
    private var current: Read?
    private(set) var lastPurpose = Purpose.deadLetters
    /// The time at which the store was asked; nil if no answer is pending.
    private(set) var started: Duration?

    mutating func wake(_ slot: DurableSlot, isNeeded: Bool = true) {
        if isNeeded, queued.insert(slot).inserted { queue.append(slot) }
    }

    /// Takes the next subscription; nil while copies are being read.
    mutating func next() -> DurableSlot? {
        guard started == nil else { return nil }
        if retriesLeft > 0, !isQueuesTurn || queue.isEmpty, let slot = retrying.popFirst() {
            retriesLeft -= 1
            areRetrying.remove(slot)
            areFailed.remove(slot)
            isQueuesTurn = true
            return slot
        }
        guard let slot = queue.popFirst() else { return nil }
        queued.remove(slot)
        isQueuesTurn = false
        return slot
    }

    mutating func begin(_ read: Read, now: Duration) {
        current = read
        lastPurpose = read.purpose
        started = now
    }

    /// Ends reading.
    mutating func finish() -> Read? {
        started = nil
        return current.take()
    }

    /// Makes a subscription wait until storage works again, or there is room again. Until then it makes no dead
    /// letters.
    mutating func failed(_ slot: DurableSlot) {
        areFailed.insert(slot)
        needsRoom(slot)
    }

    /// Makes a subscription wait until there may be room for more copies. Meanwhile it makes dead letters.
    mutating func needsRoom(_ slot: DurableSlot) {
        if areRetrying.insert(slot).inserted { retrying.append(slot) }
    }

    /// Whether a subscription makes no dead letters until storage works again, or there is room again.
    func hasFailed(_ slot: DurableSlot) -> Bool { areFailed.contains(slot) }

    /// Lets the waiting subscriptions continue. Must be called when storage works again, or when there may be room
    /// again.
    mutating func retry() {
        retriesLeft = retrying.count
    }

    /// Forgets a subscription that is removed.
    mutating func removed(_ slot: DurableSlot) {
        if areRetrying.remove(slot) != nil {
            retrying.removeAll { $0 == slot }
            retriesLeft = min(retriesLeft, retrying.count)
        }
        areFailed.remove(slot)
        if queued.remove(slot) != nil { queue.removeAll { $0 == slot } }
        if let read = current, read.slot == slot {
            current = Read(slot: slot, purpose: read.purpose, sequences: [])
        }
    }
}
