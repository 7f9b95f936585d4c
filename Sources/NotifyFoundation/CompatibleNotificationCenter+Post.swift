public import Foundation
import NotifyCenter

extension CompatibleNotificationCenter {
    /// Calls everybody who observes the notification's name, or every name, and its object, or any. Returns after all of
    /// them, also those on queues.
    public func post(_ notification: Notification) {
        post(PostedNotification(notification), name: notification.name, object: notification.object)
    }

    /// Calls everybody who observes the name, or every name, and the object, or any. Returns after all of them, also those on
    /// queues.
    public func post(
        name aName: NSNotification.Name, object anObject: Any?, userInfo aUserInfo: [AnyHashable: Any]? = nil
    ) {
        let notification = Notification(name: aName, object: anObject, userInfo: aUserInfo)
        post(PostedNotification(notification), name: aName, object: anObject)
    }

    /// The name and the object are those of the notification, which would copy them.
    @inline(__always)
    private func post(_ notification: PostedNotification, name: NSNotification.Name, object: Any?) {
        let object: NotificationObject? = if let object { NotificationObject(ofPost: object) } else { nil }
        center.post(NotificationName(unchecked: name.rawValue), object: object, message: notification)
    }
}
