public import Foundation
import NotifyCenter

extension CompatibleNotificationCenter {
    /// Posts a notification to every observer whose name and object filters match. Returns after all of these observers
    /// have run, including those on queues.
    public func post(_ notification: Notification) {
        post(name: notification.name, object: notification.object) { PostedNotification(notification) }
    }

    /// Posts a notification to every observer whose name and object filters match. Returns after all of these observers
    /// have run, including those on queues.
    public func post(
        name aName: NSNotification.Name, object anObject: Any?, userInfo aUserInfo: [AnyHashable: Any]? = nil
    ) {
        post(name: aName, object: anObject) {
            PostedNotification(Notification(name: aName, object: anObject, userInfo: aUserInfo))
        }
    }

    /// - Parameter notification: Creates the notification of this name and object. Called if the post reaches an
    ///   observer, or if the center has interceptors or a hook for unobserved posts.
    @inline(__always)
    func post(name: NSNotification.Name, object: Any?, notification: () -> PostedNotification) {
        // Nil is handled separately, because binding the object copies it, even if it is nil.
        if object == nil { return center.post(NotificationName(name), object: nil, makingMessage: notification) }
        center.post(
            NotificationName(name), object: object.flatMap { NotificationObject(ofPost: $0) },
            makingMessage: notification)
    }
}
