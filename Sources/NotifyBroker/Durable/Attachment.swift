import NotifyLog
import NotifyWire

/// A client's attachment to a durable subscription, as requested.
struct Attachment: Equatable {
    let connection: ConnectionID
    /// The number that the client assigned to the subscription on that connection.
    let number: UInt32
    let instance: InstanceID
    let identity: IdentityID
    let pid: UInt32
    let request: UInt64
    let isResumed: Bool
    /// The maximum number of unacknowledged messages.
    let window: Int
    /// When it was requested, in microseconds since 1970.
    let requestedMicroseconds: UInt64

    var asLast: LastAttachment { LastAttachment(microseconds: requestedMicroseconds, pid: pid) }
}

/// Identifies a member among all current and earlier members of its subscription.
struct MemberID: Hashable {
    let rawValue: UInt32

    var next: MemberID { MemberID(rawValue: rawValue &+ 1) }
}

/// A client attached to a durable subscription, with its flow control: window and credit.
struct Member {
    let attachment: Attachment
    let id: MemberID
    private(set) var credit: UInt32
    /// Messages delivered and not acknowledged.
    private(set) var unacknowledged = 0
    /// Messages acknowledged.
    private(set) var acknowledgedCount: UInt64 = 0
    /// The highest sequence delivered. Acknowledgements above it are refused.
    private(set) var deliveredThrough: UInt64 = 0

    init(_ attachment: Attachment, id: MemberID, credit: UInt32) {
        self.attachment = attachment
        self.id = id
        self.credit = credit
    }

    /// The number of further messages that the window and the credit permit.
    var room: Int { max(0, min(attachment.window - unacknowledged, Int(credit))) }

    mutating func delivered(_ sequence: UInt64) {
        unacknowledged += 1
        deliveredThrough = max(deliveredThrough, sequence)
        if credit != Subscribe.unlimitedCredit { credit -= 1 }
    }

    mutating func acknowledged(_ count: Int) {
        unacknowledged -= count
        acknowledgedCount += UInt64(count)
    }

    /// Notes that delivered messages need no acknowledgement any more.
    mutating func released(_ count: Int) {
        unacknowledged -= count
    }

    mutating func creditAdded(_ messages: UInt32) {
        guard credit != Subscribe.unlimitedCredit else { return }
        let (sum, overflow) = credit.addingReportingOverflow(messages)
        credit = overflow ? Subscribe.unlimitedCredit : sum
    }
}
