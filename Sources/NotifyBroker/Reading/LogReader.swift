import NotifyCenter
package import NotifyLog

extension ReaderID: SlotID {
    var index: Int { Int(slot) }

    init(index: Int, generation: UInt32) {
        self.init(slot: Int32(index), generation: generation)
    }
}

/// A reader of the log: its position, and where its next messages come from. A pure state machine.
///
/// It is either *live*, and receives each message as it is committed, or *behind*, and reads from its position, from
/// the tail ring or from pages, until it reaches the end of the log. A slow reader holds a position, not messages in
/// memory.
struct LogReader {
    /// The receiver of the reader's messages.
    enum Consumer: Equatable {
        case durable(DurableSlot)
    }

    /// Which messages the reader selects, and under whose rights.
    struct Interest {
        let filter: SubscriptionFilter
        let identity: IdentityID
        /// The registration in the center: a resolution that contains it reaches the reader.
        let registration: UInt64
        /// The durable subscription under which the store caches which names match; nil for no caching.
        let subscription: DurableID?
    }

    enum State: Equatable {
        case behind
        /// A page was requested under the policy of this generation.
        case paging(rights: UInt32)
        case live
    }

    let consumer: Consumer
    let interest: Interest
    private(set) var state = State.behind
    /// Every message up to this sequence was delivered or skipped. While live, commits that do not match do not advance
    /// it.
    private(set) var position: UInt64

    /// - Parameter position: The sequence after which to read.
    init(for consumer: Consumer, _ interest: Interest, after position: UInt64) {
        self.consumer = consumer
        self.interest = interest
        self.position = position
    }

    var isLive: Bool { state == .live }
    /// Whether it is behind and not waiting for a page.
    var canRead: Bool { state == .behind }

    /// Notes that every message up to `sequence` was delivered or skipped.
    mutating func passed(through sequence: UInt64) {
        position = max(position, sequence)
    }

    /// Notes that the end of the log is reached.
    mutating func caughtUp() {
        state = .live
    }

    /// Notes that a live reader had no room for the committed message after `sequence`.
    mutating func fellBehind(at sequence: UInt64) {
        guard state == .live else { return }
        state = .behind
        passed(through: sequence)
    }

    mutating func pageRequested(rights: UInt32) {
        guard state == .behind else { return }
        state = .paging(rights: rights)
    }

    /// Notes that a page arrived. Returns false if none was requested, or if it was read under another policy
    /// generation than `rights`: then the reader requests it again.
    mutating func pageArrived(rights: UInt32) -> Bool {
        guard case .paging(let requested) = state else { return false }
        state = .behind
        return requested == rights
    }
}
