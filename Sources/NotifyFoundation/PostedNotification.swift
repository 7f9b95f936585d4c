public import Foundation
import NotifyCenter

/// The payload of a `Notification` or a typed message, as observers of the underlying center receive it.
///
/// `@unchecked Sendable`, because the object, the contents of `userInfo` and a message of the main actor may be of any
/// type. It is safe for these reasons:
///
/// - The library reads the notification, and passes it to observers on the poster's thread, or on a queue while the
///   poster waits, so that no two threads access it at once. The exceptions are asynchronous sequences and notifications
///   for which an observer on the main actor gets a message: ``CompatibleNotificationCenter/Notifications`` and
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

    /// The value in `userInfo` for a key, if it is of a type that may be used on any thread.
    public func userInfo<Value: Sendable>(
        _ key: some Hashable & Sendable, as type: Value.Type = Value.self
    ) -> Value? {
        notification.userInfo?[AnyHashable(key)] as? Value
    }

    /// The typed message that was posted, if it is of this type, which may be used on any thread.
    public func message<Message: Sendable>(as type: Message.Type = Message.self) -> Message? {
        message as? Message
    }
}

extension PostedNotification {
    /// What an observer gets for what was posted to the underlying center, or changed by an interceptor on its way.
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

    /// The message that an observer of a type gets: the one that was posted or else the one that `make` makes.
    ///
    /// - Throws: `MessageConversionError` if it makes none.
    func message<Message>(or make: (Notification) -> Message?) throws -> Message {
        if let message = message as? Message { return message }
        guard let message = make(notification) else { throw MessageConversionError(type: Message.self) }
        return message
    }
}

/// A notification that an observer of messages was not called for.
struct MessageConversionError: Error, CustomStringConvertible {
    let type: Any.Type

    var description: String { "makeMessage(_:) of \(type) returned nil" }
}
