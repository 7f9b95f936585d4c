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

    private(set) var entries: [Entry] = []
    private var lastNumber: UInt64 = 0

    /// The modes for which the run loop was told to post: once is enough for all that wait.
    var scheduledModes: Set<RunLoop.Mode> = []

    /// Adds a notification. Answers for which modes the run loop has to be told.
    mutating func append(_ pending: PendingNotification, modes: [RunLoop.Mode]) -> [RunLoop.Mode] {
        lastNumber += 1
        entries.append(Entry(number: lastNumber, pending: pending, modes: modes))
        return modes.filter { scheduledModes.insert($0).inserted }
    }

    /// Takes out those that may be posted in a mode.
    mutating func takeAll(in mode: RunLoop.Mode) -> [Entry] {
        // No look at each where none has to stay, which is the rule.
        let ready = entries.filter { $0.modes.accept(mode) }
        if ready.count == entries.count { entries = [] } else { entries.removeAll { $0.modes.accept(mode) } }
        return ready
    }

    /// Takes out those with these numbers.
    mutating func take(_ numbers: Set<UInt64>) -> [Entry] {
        if numbers.isEmpty { return [] }
        let taken = entries.filter { numbers.contains($0.number) }
        entries.removeAll { numbers.contains($0.number) }
        return taken
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
