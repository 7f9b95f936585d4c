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
    /// Whether the subscription existed before the request.
    let isResumed: Bool
    /// The maximum number of unacknowledged messages.
    let window: Int
    /// Whether the request grants credit. If not, the attachment is not recorded as the last one, because it may serve
    /// only to create the subscription.
    var hasCredit = true
    /// The earlier settings of the subscription, if the attachment changes how it is shared.
    var replacedSettings: DurableSettings?
    /// The time of the request, in microseconds since 1970.
    let requestedMicroseconds: UInt64

    /// The record of the last attachment, after this attachment.
    func last(after earlier: LastAttachment) -> LastAttachment {
        hasCredit ? LastAttachment(microseconds: requestedMicroseconds, pid: pid) : earlier
    }
}
