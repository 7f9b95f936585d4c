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
    /// Whether the client asked for messages. A client that only creates the subscription does not.
    var hasCredit = true
    /// The settings of the subscription before, if the attachment changes how it is shared.
    var replacedSettings: DurableSettings?
    /// When it was requested, in microseconds since 1970.
    let requestedMicroseconds: UInt64

    /// The last attachment of the subscription after this one.
    func last(after earlier: LastAttachment) -> LastAttachment {
        hasCredit ? LastAttachment(microseconds: requestedMicroseconds, pid: pid) : earlier
    }
}
