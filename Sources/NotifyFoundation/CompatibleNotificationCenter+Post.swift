public import Foundation
import NotifyCenter

extension CompatibleNotificationCenter {
    /// Calls the observers of the notification's name and of every name that ask for its object or for none. Returns after
    /// all of them, also those on queues.
    public func post(_ notification: Notification) {
        post(name: notification.name, object: notification.object) { PostedNotification(notification) }
    }

    /// Calls the observers of the name and of every name that ask for the object or for none. Returns after all of them, also
    /// those on queues.
    public func post(
        name aName: NSNotification.Name, object anObject: Any?, userInfo aUserInfo: [AnyHashable: Any]? = nil
    ) {
        post(name: aName, object: anObject) {
            PostedNotification(Notification(name: aName, object: anObject, userInfo: aUserInfo))
        }
    }

    /// - Parameter notification: Makes the notification of this name and object, if the post reaches an observer.
    @inline(__always)
    func post(name: NSNotification.Name, object: Any?, notification: () -> PostedNotification) {
        // Separately, because binding the object copies it, also nil.
        if object == nil { return center.post(NotificationName(name), object: nil, makingMessage: notification) }
        center.post(
            NotificationName(name), object: object.flatMap { NotificationObject(ofPost: $0) },
            makingMessage: notification)
    }
}
