import NotifyLog

/// A reader of the log: its position, and the source of its next messages. A pure state machine.
///
/// A *live* reader receives each matching message when the message is committed. A reader that is *behind* reads the
/// messages after its position, from the tail ring or from pages, until it reaches the end of the log. A slow reader
/// holds a position, not messages in memory.
struct LogReader {
    /// The receiver of the reader's messages.
    enum Consumer: Equatable {
        case durable(DurableSlot)
    }

    /// The messages that the reader selects. The rights are those of its consumer.
    struct Interest {
        let filter: SubscriptionFilter
        /// The id of the registration in the center. A message reaches the reader if its resolution contains this
        /// registration.
        fileprivate(set) var registration: UInt64
        /// The durable subscription for which the store caches the matching names; nil for no caching.
        let subscription: DurableID?
    }

    enum State: Equatable {
        case behind
        /// A page was requested under the policy with this generation; nil if the rights have changed since.
        case paging(rights: UInt32?)
        case live
    }

    let consumer: Consumer
    private(set) var interest: Interest
    private(set) var state = State.behind
    /// Every message up to this sequence was delivered or skipped. While the reader is live, messages that do not match
    /// do not advance the position.
    private(set) var position: UInt64

    /// - Parameter position: The sequence after which to read.
    init(for consumer: Consumer, _ interest: Interest, after position: UInt64) {
        self.consumer = consumer
        self.interest = interest
        self.position = position
    }

    var isLive: Bool { state == .live }
    /// Whether the reader is behind and not waiting for a page.
    var canRead: Bool { state == .behind }

    /// Notes that every message up to `sequence` was delivered or skipped.
    mutating func passed(through sequence: UInt64) {
        position = max(position, sequence)
    }

    /// Notes that the consumer has another registration, for the same messages.
    mutating func registered(as registration: UInt64) {
        interest.registration = registration
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

    /// Notes that the consumer has other rights: a page that was requested before must not be used.
    mutating func rightsChanged() {
        if case .paging = state { state = .paging(rights: nil) }
    }

    /// Notes that a page arrived.
    ///
    /// - Returns: False if the page must not be used. Either no page was requested, or the page was read under another
    ///   policy generation than `rights` and must be requested again.
    mutating func pageArrived(rights: UInt32) -> Bool {
        guard case .paging(let requested) = state else { return false }
        state = .behind
        return requested == rights
    }
}
