import NotifyCenter
package import NotifyLog

extension ReaderID: SlotID {
    var index: Int { Int(slot) }

    init(index: Int, generation: UInt32) {
        self.init(slot: Int32(index), generation: generation)
    }
}

/// One reader of the log: where it is, and where its next messages come from. A pure state machine.
///
/// It is either *live*, and gets each message as it is committed, or *behind*, and reads from its position through the
/// tail ring or through pages until it has reached the end of the log. A slow reader costs a position, not memory.
struct LogReader {
    /// What the reader reads for.
    enum Consumer: Equatable {
        case durable(DurableSlot)
    }

    /// Which messages the reader wants, and under whose rights.
    struct Interest {
        let filter: SubscriptionFilter
        let identity: IdentityID
        /// The registration in the center by which resolutions tell what the reader gets.
        let registration: UInt64
        /// The durable subscription under which the store caches which names match, if there is one.
        let subscription: DurableID?
    }

    enum State: Equatable {
        case behind
        /// Waits for a page that was requested under rights of this generation.
        case paging(rights: UInt32)
        case live
    }

    let consumer: Consumer
    let interest: Interest
    private(set) var state = State.behind
    /// Every message up to here was handed over or passed. Trails while live.
    private(set) var position: UInt64

    /// - Parameter position: The sequence after which it reads.
    init(for consumer: Consumer, _ interest: Interest, after position: UInt64) {
        self.consumer = consumer
        self.interest = interest
        self.position = position
    }

    var isLive: Bool { state == .live }
    /// It is behind and waits for nothing: with room it can read on.
    var canRead: Bool { state == .behind }

    /// Every message up to `sequence` was handed over or passed.
    mutating func passed(through sequence: UInt64) {
        position = max(position, sequence)
    }

    /// It has reached the end of the log.
    mutating func caughtUp() {
        state = .live
    }

    /// A live reader had no room for the committed message that follows `sequence`.
    mutating func fellBehind(at sequence: UInt64) {
        guard state == .live else { return }
        state = .behind
        passed(through: sequence)
    }

    mutating func pageRequested(rights: UInt32) {
        guard state == .behind else { return }
        state = .paging(rights: rights)
    }

    /// A page arrived. Returns false where none is awaited, or where it was read under other rights than `rights`: then
    /// the reader asks again.
    mutating func pageArrived(rights: UInt32) -> Bool {
        guard case .paging(let requested) = state else { return false }
        state = .behind
        return requested == rights
    }
}
