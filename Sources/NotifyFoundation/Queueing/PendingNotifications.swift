import Foundation
import NotifyCenter

/// The pending notifications of a queue.
///
/// Mutations never run code of the program, such as `==` of a value or `deinit` of an instance, because that code may
/// use the same queue. The caller compares before a mutation, and releases removed entries after it.
struct PendingNotifications {
    struct Entry {
        /// The position in the order of enqueueing.
        let number: UInt64
        let pending: PendingNotification
        let modes: [RunLoop.Mode]
    }

    /// The entries by number, so that removal takes constant time.
    private(set) var entries: [UInt64: Entry] = [:]
    private var lastNumber: UInt64 = 0

    /// The modes that already have a callback on the run loop. One callback per mode serves all pending notifications.
    var scheduledModes: Set<RunLoop.Mode> = []

    /// All pending notifications, in the order of enqueueing.
    var inOrder: [Entry] { entries.values.sorted { $0.number < $1.number } }

    mutating func append(_ pending: PendingNotification, modes: [RunLoop.Mode]) {
        lastNumber += 1
        entries[lastNumber] = Entry(number: lastNumber, pending: pending, modes: modes)
    }

    /// Removes the entry with this number.
    ///
    /// - Returns: The entry, or nil if it is no longer pending.
    mutating func take(_ number: UInt64) -> Entry? {
        entries.removeValue(forKey: number)
    }
}

/// A notification with its object in comparable form. An object that can't be compared is treated as nil.
struct PendingNotification {
    let notification: Notification
    private let object: NotificationObject?

    init(_ notification: Notification) {
        self.notification = notification
        object = notification.object.flatMap { NotificationObject(ofPost: $0) }
    }

    /// Whether both are equal in all properties of the mask, which must not be empty.
    func isSame(
        as other: PendingNotification, in mask: Foundation.NotificationQueue.NotificationCoalescing
    ) -> Bool {
        (!mask.contains(.onName) || notification.name == other.notification.name)
            && (!mask.contains(.onSender) || object == other.object)
    }
}
