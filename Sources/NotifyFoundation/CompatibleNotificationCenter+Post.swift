public import Foundation
import NotifyCenter

extension CompatibleNotificationCenter {
    /// Calls everybody who observes the notification's name, or every name, and its object, or any. Returns after all of
    /// them, also those on queues.
    public func post(_ notification: Notification) {
        center.post(
            NotificationName(unchecked: notification.name.rawValue),
            object: notification.object.flatMap { NotificationObject(ofPost: $0) },
            message: PostedNotification(notification))
    }

    /// Calls everybody who observes the name, or every name, and the object, or any. Returns after all of them, also those on
    /// queues.
    public func post(
        name aName: NSNotification.Name, object anObject: Any?, userInfo aUserInfo: [AnyHashable: Any]? = nil
    ) {
        post(Notification(name: aName, object: anObject, userInfo: aUserInfo))
    }
}
