public import Foundation
import NotifyCenter

/// The payload of a `Notification` or a typed message, as observers of the underlying center receive it.
///
/// `@unchecked Sendable`, because the object, the contents of `userInfo` and a message of the main actor may be of any
/// type. It is safe for these reasons:
///
/// - The library reads the notification and passes it to observers on the poster's thread, or on a queue while the
///   poster waits, so no two threads access it at once. The exceptions are asynchronous sequences, and notifications
///   that are converted to messages on the main actor: ``CompatibleNotificationCenter/Notifications`` and
///   ``CompatibleNotificationCenter/MainActorMessage`` state what they require of the poster.
/// - Other code can only read values of sendable types.
public struct PostedNotification: @unchecked Sendable {
    let notification: Notification
    /// The typed message that was posted, or the payload of a post to the underlying center.
    let message: Any?

    init(_ notification: consuming Notification, message: Any? = nil) {
        self.notification = notification
        self.message = message
    }

    /// The notification's name.
    public var name: NSNotification.Name { notification.name }

    /// Returns the value in `userInfo` for a key if it has the given type, which must be `Sendable`.
    public func userInfo<Value: Sendable>(
        _ key: some Hashable & Sendable, as type: Value.Type = Value.self
    ) -> Value? {
        notification.userInfo?[AnyHashable(key)] as? Value
    }

    /// Returns the typed message that was posted if it has the given type, which must be `Sendable`.
    public func message<Message: Sendable>(as type: Message.Type = Message.self) -> Message? {
        message as? Message
    }
}

extension PostedNotification {
    /// Converts a notification of the underlying center, which may have been posted there or changed by an interceptor.
    init(_ local: LocalNotification) {
        guard let posted = local.payload as? PostedNotification else {
            self.init(
                Notification(
                    name: NSNotification.Name(local.name.string), object: local.object?.anyContent,
                    userInfo: local.payload.map { [CompatibleNotificationCenter.payloadKey: $0] }),
                message: local.payload)
            return
        }
        var notification = posted.notification
        notification.name = NSNotification.Name(local.name.string)
        if local.object != notification.object.flatMap({ NotificationObject(ofPost: $0) }) {
            notification.object = local.object?.anyContent
        }
        self.init(notification, message: posted.message)
    }

    /// The notification for the hooks of the underlying center.
    var local: LocalNotification {
        LocalNotification(
            name: NotificationName(notification.name),
            object: notification.object.flatMap { NotificationObject(ofPost: $0) }, payload: self)
    }

    /// Returns the message for an observer of a type: the posted message if it has this type, or else the result of
    /// `make`.
    ///
    /// - Throws: `MessageConversionError` if `make` returns nil.
    func message<Message>(or make: (Notification) -> Message?) throws -> Message {
        if let message = message as? Message { return message }
        guard let message = make(notification) else { throw MessageConversionError(type: Message.self) }
        return message
    }
}

/// The error reported if a notification can't be converted to a message. The observer of messages is not called.
struct MessageConversionError: Error, CustomStringConvertible {
    let type: Any.Type

    var description: String { "makeMessage(_:) of \(type) returned nil" }
}
