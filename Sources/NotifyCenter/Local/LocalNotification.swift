/// A notification: a name, an object and a payload. Observers of names receive this type.
public struct LocalNotification: Sendable {
    /// The name.
    public let name: NotificationName

    /// The object that the notification concerns, if any. Observers can filter by object.
    public let object: NotificationObject?

    // Not optional, because copying an optional existential checks for nil at run time.
    private let contents: any Sendable

    /// The payload. For a ``NotificationMessage`` this is the message.
    public var payload: (any Sendable)? { type(of: contents) == NoPayload.self ? nil : contents }

    private struct NoPayload: Sendable {}

    /// Creates a notification for ``LocalCenter/post(_:)-(LocalNotification)``.
    public init(name: NotificationName, object: NotificationObject? = nil, payload: (any Sendable)? = nil) {
        self.name = name
        self.object = object
        self.contents = payload ?? NoPayload()
    }

    /// Creates a notification without a payload. Unlike ``init(name:object:payload:)``, checks no payload for nil.
    @inline(__always)
    init(named name: NotificationName, object: consuming NotificationObject? = nil) {
        self.name = name
        self.object = object
        contents = NoPayload()
    }

    /// Creates the notification of a message.
    init<Message: NotificationMessage>(_ message: Message, object: NotificationObject?) {
        self.init(name: Message.notificationName, object: object ?? message.notificationObject, payload: message)
    }

    /// The same notification with another payload, for example for an ``Interceptor``.
    public func replacing(payload: (any Sendable)?) -> LocalNotification {
        LocalNotification(name: name, object: object, payload: payload)
    }
}
