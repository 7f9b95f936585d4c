/// A notification as observers of names get it.
public struct LocalNotification: Sendable {
    /// What it is about.
    public let name: NotificationName

    /// What it concerns, if the poster said so. Observers may ask for one object alone.
    public let object: NotificationObject?

    // Not optional: copying an optional existential checks at run time whether there is one.
    private let contents: any Sendable

    /// What the poster added. For a ``NotificationMessage`` this is the message.
    public var payload: (any Sendable)? { type(of: contents) == NoPayload.self ? nil : contents }

    private struct NoPayload: Sendable {}

    /// Makes a notification as ``LocalCenter/post(_:)-(LocalNotification)`` takes it.
    public init(name: NotificationName, object: NotificationObject? = nil, payload: (any Sendable)? = nil) {
        self.name = name
        self.object = object
        self.contents = payload ?? NoPayload()
    }

    /// Makes the notification that a message is posted as.
    init<Message: NotificationMessage>(_ message: Message, object: NotificationObject?) {
        self.init(name: Message.notificationName, object: object ?? message.notificationObject, payload: message)
    }

    /// The same notification with another payload, as an ``Interceptor`` may pass on.
    public func replacing(payload: (any Sendable)?) -> LocalNotification {
        LocalNotification(name: name, object: object, payload: payload)
    }
}
