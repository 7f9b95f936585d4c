import Foundation
import NotifyCenter

/// Pending notifications, the first enqueued first.
///
/// Code of the program, such as a value's `==` or an instance's `deinit`, may use the queue that these are pending in. None
/// runs here: the caller compares before a change, and releases what was removed after it.
struct PendingNotifications {
    struct Entry {
        /// Later ones have larger numbers.
        let number: UInt64
        let pending: PendingNotification
        let modes: [RunLoop.Mode]
    }

    /// By number, so that removing one costs the same wherever it is.
    private(set) var entries: [UInt64: Entry] = [:]
    private var lastNumber: UInt64 = 0

    /// The modes in which the run loop has been scheduled to post: once is enough for all pending notifications.
    var scheduledModes: Set<RunLoop.Mode> = []

    /// All pending notifications, the first enqueued first.
    var inOrder: [Entry] { entries.values.sorted { $0.number < $1.number } }

    mutating func append(_ pending: PendingNotification, modes: [RunLoop.Mode]) {
        lastNumber += 1
        entries[lastNumber] = Entry(number: lastNumber, pending: pending, modes: modes)
    }

    /// Removes the one with this number, if it is still pending.
    mutating func take(_ number: UInt64) -> Entry? {
        entries.removeValue(forKey: number)
    }
}

/// A notification, and the object that it is compared by. Values that cannot be compared count as none.
struct PendingNotification {
    let notification: Notification
    private let object: NotificationObject?

    init(_ notification: Notification) {
        self.notification = notification
        object = notification.object.flatMap { NotificationObject(ofPost: $0) }
    }

    /// Whether both are equal in all that the mask names, which is not empty.
    func isSame(
        as other: PendingNotification, in mask: Foundation.NotificationQueue.NotificationCoalescing
    ) -> Bool {
        (!mask.contains(.onName) || notification.name == other.notification.name)
            && (!mask.contains(.onSender) || object == other.object)
    }
}
