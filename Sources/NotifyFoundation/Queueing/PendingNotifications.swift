import Foundation
import NotifyCenter

/// Notifications that wait, the first enqueued first.
struct PendingNotifications {
    private struct Entry {
        let notification: Notification
        let object: NotificationObject?
        let modes: [RunLoop.Mode]
    }

    private var entries: [Entry] = []

    /// The modes for which the run loop was told to post: once is enough for all that wait.
    var scheduledModes: Set<RunLoop.Mode> = []

    /// Adds a notification. Answers for which modes the run loop has to be told.
    mutating func append(_ notification: Notification, modes: [RunLoop.Mode]) -> [RunLoop.Mode] {
        entries.append(Entry(notification: notification, object: notification.pendingObject, modes: modes))
        return modes.filter { scheduledModes.insert($0).inserted }
    }

    /// Takes out those that may be posted in a mode.
    mutating func takeAll(in mode: RunLoop.Mode) -> [Notification] {
        // No look at each where none has to stay, which is the rule.
        let ready = entries.filter { $0.modes.accept(mode) }
        if ready.count == entries.count { entries = [] } else { entries.removeAll { $0.modes.accept(mode) } }
        return ready.map(\.notification)
    }

    mutating func removeAll(
        like notification: Notification, in mask: Foundation.NotificationQueue.NotificationCoalescing
    ) {
        if entries.isEmpty || mask.isDisjoint(with: [.onName, .onSender]) { return }
        let object = notification.pendingObject
        entries.removeAll { entry in
            (!mask.contains(.onName) || entry.notification.name == notification.name)
                && (!mask.contains(.onSender) || entry.object == object)
        }
    }
}

extension Notification {
    /// What stands for the object while the notification waits. Values that cannot be compared count as none.
    fileprivate var pendingObject: NotificationObject? { object.flatMap { NotificationObject(ofPost: $0) } }
}
