import NotifyWire

/// A client attached to a durable subscription, with its flow control: window and credit.
struct Member {
    let attachment: Attachment
    let id: MemberID
    /// Whether the attachment is committed. No message is delivered before.
    private(set) var isCommitted = false
    private(set) var credit: UInt32
    /// The number of messages delivered and not answered.
    private(set) var unacknowledged = 0
    /// The number of messages acknowledged.
    private(set) var acknowledgedCount: UInt64 = 0
    /// The highest sequence delivered. Answers above it are refused.
    private(set) var deliveredThrough: UInt64 = 0
    /// Whether the member has let a deadline pass and has answered nothing since then. A stalled member gets messages
    /// only if all members are stalled, so that a hanging client takes no messages from working ones.
    private(set) var isStalled = false

    init(_ attachment: Attachment, id: MemberID, credit: UInt32) {
        self.attachment = attachment
        self.id = id
        self.credit = credit
    }

    /// The number of further messages that the window and the credit permit.
    @inline(__always)
    var room: Int { isCommitted ? max(0, min(attachment.window - unacknowledged, Int(credit))) : 0 }

    mutating func committed() {
        isCommitted = true
    }

    /// Records the delivery of messages for which the member has room.
    ///
    /// - Parameter sequence: The sequence of the last message.
    @inline(__always)
    mutating func delivered(_ count: Int, through sequence: UInt64) {
        unacknowledged += count
        deliveredThrough = max(deliveredThrough, sequence)
        if credit != Subscribe.unlimitedCredit { credit -= UInt32(count) }
    }

    mutating func acknowledged(_ count: Int) {
        unacknowledged -= count
        acknowledgedCount += UInt64(count)
    }

    /// Records that the member answered.
    mutating func answered() {
        isStalled = false
    }

    /// Records that the deadline of a message of the member has passed.
    mutating func stalled() {
        isStalled = true
    }

    /// Records that delivered messages need no answer any more.
    mutating func released(_ count: Int) {
        unacknowledged -= count
    }

    mutating func creditAdded(_ messages: UInt32) {
        guard credit != Subscribe.unlimitedCredit else { return }
        let (sum, overflow) = credit.addingReportingOverflow(messages)
        credit = overflow ? Subscribe.unlimitedCredit : sum
    }
}
