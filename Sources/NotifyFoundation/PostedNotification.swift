public import Foundation
import NotifyCenter

/// What observers of the center beneath find as the payload of a `Notification`.
///
/// Sendable is not checked, because the object and the contents of `userInfo` may be anything. It holds all the same:
///
/// - The library reads the notification, and hands it to observers on the poster's thread, or on a queue while the poster
///   waits, so that no two threads have it at once. The one exception is an asynchronous sequence, as with Foundation:
///   ``CompatibleNotificationCenter/Notifications`` says what that asks of the poster.
/// - Others get at nothing here but values of sendable types.
public struct PostedNotification: @unchecked Sendable {
    let notification: Notification

    init(_ notification: consuming Notification) {
        self.notification = notification
    }

    /// The notification's name.
    public var name: NSNotification.Name { notification.name }

    /// What `userInfo` has under a key, if it is of a type that may be used on any thread.
    public func userInfo<Value: Sendable>(
        _ key: some Hashable & Sendable, as type: Value.Type = Value.self
    ) -> Value? {
        notification.userInfo?[AnyHashable(key)] as? Value
    }
}

extension PostedNotification {
    /// What an observer gets for what was posted to the center beneath, or changed by an interceptor on its way.
    init(_ local: LocalNotification) {
        guard var notification = (local.payload as? PostedNotification)?.notification else {
            self.init(
                Notification(
                    name: NSNotification.Name(local.name.string), object: local.object?.anyContent,
                    userInfo: local.payload.map { [CompatibleNotificationCenter.payloadKey: $0] }))
            return
        }
        notification.name = NSNotification.Name(local.name.string)
        if local.object != notification.object.flatMap({ NotificationObject(ofPost: $0) }) {
            notification.object = local.object?.anyContent
        }
        self.init(notification)
    }
}
