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
    /// The settings of the subscription before, if the attachment changes how it is shared.
    var replacedSettings: DurableSettings?
    /// When it was requested, in microseconds since 1970.
    let requestedMicroseconds: UInt64

    var asLast: LastAttachment { LastAttachment(microseconds: requestedMicroseconds, pid: pid) }
}
