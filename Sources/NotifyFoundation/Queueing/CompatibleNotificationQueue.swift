public import Foundation
import NotifyCenter

/// Foundation's `NotificationQueue` on top of a ``CompatibleNotificationCenter``. It posts notifications later, on the
/// run loop, and coalesces equal ones.
///
/// ```swift
/// typealias NotificationQueue = CompatibleNotificationQueue
///
/// NotificationQueue.default.enqueue(Notification(name: .didChange, object: self), postingStyle: .asap)
/// ```
///
/// A notification is posted by the thread that enqueued it, when this thread runs its run loop in one of the given
/// modes. Notifications are posted in the order in which they were enqueued. (Foundation on Linux begins with the last
/// one.) Threads that don't run a run loop, such as those of Swift tasks, never post their notifications. A queue stays
/// alive until all its notifications are posted.
///
/// If an observer runs the run loop, that nested run posts the notifications that are still pending. Notifications that
/// an observer dequeues are not posted.
///
/// The run loop is woken by a timer. Foundation on Linux never frees timers: each one leaks about 400 bytes. The timers
/// of the main thread for the default and the common modes are permanent. Any other timer would keep its run loop from
/// ending, so these timers are removed after an idle time: 10 ms for the first one of a thread, and 10 ms more for each
/// following one. A thread leaks at least one timer. It leaks a few timers if it enqueues continually, and about a
/// hundred in all if it enqueues once a second. In the last case, its run loop ends a second later than necessary.
///
/// A queue belongs to the thread that created it and must not be used on another thread.
public final class CompatibleNotificationQueue: NSObject {
    /// When a notification is posted: `now`, `asap` (at the end of the current turn of the run loop), or `whenIdle`
    /// (when the run loop has nothing else to do).
    public typealias PostingStyle = Foundation.NotificationQueue.PostingStyle

    /// The properties by which notifications are compared: the name, the object, or both.
    public typealias NotificationCoalescing = Foundation.NotificationQueue.NotificationCoalescing

    private let center: CompatibleNotificationCenter
    private var soon = PendingNotifications()
    private var idle = PendingNotifications()

    /// Creates a queue for the current thread.
    public init(notificationCenter: CompatibleNotificationCenter) {
        center = notificationCenter
    }

    /// The queue of the current thread, over the default center.
    public static var `default`: CompatibleNotificationQueue {
        let key = "NotifyFoundation.CompatibleNotificationQueue"
        let dictionary = Thread.current.threadDictionary
        if let queue = dictionary[key] as? CompatibleNotificationQueue { return queue }
        let queue = CompatibleNotificationQueue(notificationCenter: .default)
        dictionary[key] = queue
        return queue
    }
}

@available(*, unavailable)
extension CompatibleNotificationQueue: @unchecked Sendable {}

extension CompatibleNotificationQueue {
    /// Enqueues a notification in the default mode, replacing pending notifications with the same name and object.
    public func enqueue(_ notification: Notification, postingStyle: PostingStyle) {
        enqueue(notification, postingStyle: postingStyle, coalesceMask: [.onName, .onSender], forModes: nil)
    }

    /// Enqueues a notification.
    ///
    /// - Parameters:
    ///   - notification: The notification to post.
    ///   - postingStyle: When to post. With `now`, the notification is posted before this method returns. If the run
    ///     loop is running in a mode that is not one of `modes`, `now` discards the notification instead.
    ///   - coalesceMask: The properties to compare. Pending notifications that are equal in all of these properties are
    ///     dequeued. With `[]` none are dequeued.
    ///   - modes: The modes of the run loop in which to post, or nil for the default mode. Except with `now`, `.common`
    ///     includes the default mode.
    public func enqueue(
        _ notification: Notification, postingStyle: PostingStyle, coalesceMask: NotificationCoalescing,
        forModes modes: [RunLoop.Mode]?
    ) {
        let modes = modes ?? [.default]
        let pending = PendingNotification(notification)
        dequeue(like: pending, in: coalesceMask)
        switch postingStyle {
        case .now:
            // As with Foundation, `.common` does not match the current mode here.
            let current = RunLoop.current.currentMode
            if current.map(modes.contains) ?? true { center.post(notification) }
        case .asap:
            soon.append(pending, modes: modes)
            for mode in modes { schedulePosts(soonIn: mode) }
        case .whenIdle:
            idle.append(pending, modes: modes)
            for mode in modes { schedulePosts(idleIn: mode) }
        }
    }

    /// Dequeues the pending notifications that are equal to this one in all properties of the mask. With `[]` none are
    /// dequeued.
    public func dequeueNotifications(matching notification: Notification, coalesceMask: NotificationCoalescing) {
        dequeue(like: PendingNotification(notification), in: coalesceMask)
    }

    private func dequeue(like pending: PendingNotification, in mask: NotificationCoalescing) {
        if mask.isDisjoint(with: [.onName, .onSender]) { return }
        for list in [\CompatibleNotificationQueue.soon, \.idle] {
            // Compared and released outside of mutations: both may run code of the program, which may use this queue.
            let same = self[keyPath: list].entries.values.filter { $0.pending.isSame(as: pending, in: mask) }
            for entry in same.sorted(by: { $0.number < $1.number }) { _ = self[keyPath: list].take(entry.number) }
        }
    }
}

// MARK: - The run loop

extension CompatibleNotificationQueue {
    private func schedulePosts(soonIn mode: RunLoop.Mode) {
        guard soon.scheduledModes.insert(mode).inserted else { return }
        RunLoopScheduler.current.performSoon(in: mode) {
            self.soon.scheduledModes.remove(mode)
            self.postSoon(in: mode)
        }
    }

    private func schedulePosts(idleIn mode: RunLoop.Mode) {
        guard idle.scheduledModes.insert(mode).inserted else { return }
        RunLoopScheduler.current.performWhenIdle(in: mode) {
            self.idle.scheduledModes.remove(mode)
            self.postSoon(in: mode)
            self.post(\.idle, in: mode, leavingOthersTo: self.schedulePosts(idleIn:))
        }
    }

    private func postSoon(in mode: RunLoop.Mode) {
        post(\.soon, in: mode, leavingOthersTo: schedulePosts(soonIn:))
    }

    /// Posts the notifications that are pending now and accept the mode of the run loop, except those that observers
    /// dequeue meanwhile.
    private func post(
        _ list: ReferenceWritableKeyPath<CompatibleNotificationQueue, PendingNotifications>, in mode: RunLoop.Mode,
        leavingOthersTo schedulePosts: (RunLoop.Mode) -> Void
    ) {
        let current = RunLoop.current.currentMode ?? mode
        let ready = self[keyPath: list].inOrder.filter { $0.modes.accept(current) }.map(\.number)
        // If an observer runs the run loop, that run must post the remaining notifications.
        if ready.count > 1 { schedulePosts(mode) }
        for number in ready {
            guard let entry = self[keyPath: list].take(number) else { continue }
            center.post(entry.pending.notification)
        }
    }
}

extension [RunLoop.Mode] {
    /// Whether these modes include the mode. Foundation has no API to read the common modes; the default mode is always
    /// one of them.
    func accept(_ mode: RunLoop.Mode) -> Bool {
        contains(mode) || mode == .default && contains(.common)
    }
}
