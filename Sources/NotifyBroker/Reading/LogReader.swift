/// The reader of the log for a durable subscription with a member: its position, and the source of its next messages. A
/// pure state machine.
///
/// A *live* reader receives each matching message when the message is committed. A reader that is *behind* reads the
/// messages after its position, from the tail ring or from pages, until it reaches the end of the log. A slow reader
/// holds a position, not messages in memory.
struct LogReader {
    enum State: Equatable {
        case behind
        /// A page was requested under the policy with this generation; nil if the rights have changed since.
        case paging(rights: UInt32?)
        case live
    }

    let durable: DurableSlot
    private(set) var state = State.behind
    /// Every message up to this sequence was delivered or skipped. While the reader is live, messages that do not match
    /// do not advance the position.
    private(set) var position: UInt64

    /// - Parameter position: The sequence after which to read.
    init(of durable: DurableSlot, after position: UInt64) {
        self.durable = durable
        self.position = position
    }

    var isLive: Bool { state == .live }
    /// Whether the reader is behind and not waiting for a page.
    var canRead: Bool { state == .behind }

    /// Records that every message up to `sequence` was delivered or skipped.
    mutating func passed(through sequence: UInt64) {
        position = max(position, sequence)
    }

    /// Records that the reader has reached the end of the log.
    mutating func caughtUp() {
        state = .live
    }

    /// Records that a live reader had no room for the committed message after `sequence`.
    mutating func fellBehind(at sequence: UInt64) {
        guard state == .live else { return }
        state = .behind
        passed(through: sequence)
    }

    mutating func pageRequested(rights: UInt32) {
        guard state == .behind else { return }
        state = .paging(rights: rights)
    }

    /// Records that the rights of the subscription have changed. A page that was requested before must not be used.
    mutating func rightsChanged() {
        if case .paging = state { state = .paging(rights: nil) }
    }

    /// Records that a page has arrived.
    ///
    /// - Returns: False if the page must not be used. Either no page was requested, or the page was read under another
    ///   policy generation than `rights` and must be requested again.
    mutating func pageArrived(rights: UInt32) -> Bool {
        guard case .paging(let requested) = state else { return false }
        state = .behind
        return requested == rights
    }
}
