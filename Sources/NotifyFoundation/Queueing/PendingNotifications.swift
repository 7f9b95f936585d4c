import Foundation
import NotifyCenter

/// Notifications that wait, the first enqueued first.
///
/// Code that is not ours, a value's `==` or what an instance does when it goes, may use the queue that these wait in. None
/// runs here: who changes this compares before and lets go of what was taken out after.
struct PendingNotifications {
    struct Entry {
        /// Later ones have larger numbers.
        let number: UInt64
        let pending: PendingNotification
        let modes: [RunLoop.Mode]
    }

    /// By number, so that taking one out costs the same wherever it is.
    private(set) var entries: [UInt64: Entry] = [:]
    private var lastNumber: UInt64 = 0

    /// The modes for which the run loop was told to post: once is enough for all that wait.
    var scheduledModes: Set<RunLoop.Mode> = []

    /// All that wait, the first enqueued first.
    var inOrder: [Entry] { entries.values.sorted { $0.number < $1.number } }

    mutating func append(_ pending: PendingNotification, modes: [RunLoop.Mode]) {
        lastNumber += 1
        entries[lastNumber] = Entry(number: lastNumber, pending: pending, modes: modes)
    }

    /// Takes out the one with this number, if it still waits.
    mutating func take(_ number: UInt64) -> Entry? {
        entries.removeValue(forKey: number)
    }
}

/// A notification, and what stands for its object while it waits. Values that cannot be compared count as none.
struct PendingNotification {
    let notification: Notification
    private let object: NotificationObject?

    init(_ notification: Notification) {
        self.notification = notification
        object = notification.object.flatMap { NotificationObject(ofPost: $0) }
    }

    /// Whether it is the same in all that the mask says, which is not empty.
    func isSame(
        as other: PendingNotification, in mask: Foundation.NotificationQueue.NotificationCoalescing
    ) -> Bool {
        (!mask.contains(.onName) || notification.name == other.notification.name)
            && (!mask.contains(.onSender) || object == other.object)
    }
}
