public import Foundation
import NotifyCenter

/// Foundation's `NotificationQueue`, over a ``CompatibleNotificationCenter``: notifications wait for the run loop, and
/// equal ones are coalesced.
///
/// ```swift
/// typealias NotificationQueue = CompatibleNotificationQueue
///
/// NotificationQueue.default.enqueue(Notification(name: .didChange, object: self), postingStyle: .asap)
/// ```
///
/// Pending notifications are posted in the order in which they were enqueued (Foundation on Linux begins with the
/// last), by the thread that enqueued them, when that thread runs its run loop in one of the given modes. Threads that
/// run none, such as those of Swift's tasks, never post them. A queue stays alive until all its notifications are
/// posted.
///
/// An observer may run the run loop: what is still pending is posted there. What it dequeues is not posted.
///
/// A run loop is woken by a timer, and Foundation on Linux never frees one: about 400 bytes leak. The main thread has
/// one for each mode, permanently. On another thread that would keep the run loop from ending, so there a timer is
/// removed when it has not been used for a while: ten milliseconds at first, and ten more for each one that follows. A
/// thread leaks at least one, a few if it enqueues all the time, and a hundred in all if it does so once a second; then
/// its run loop ends a second later than it could.
///
/// A queue belongs to the thread that made it and must not be used by another one.
public final class CompatibleNotificationQueue: NSObject {
    /// When a notification is posted: `now`, `asap` (at the end of what the run loop is doing), or `whenIdle` (when the
    /// run loop has nothing else to do).
    public typealias PostingStyle = Foundation.NotificationQueue.PostingStyle

    /// The properties that equal notifications share: the name, the object, or both.
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
    /// Enqueues a notification in the default mode, in place of pending ones with the same name and object.
    public func enqueue(_ notification: Notification, postingStyle: PostingStyle) {
        enqueue(notification, postingStyle: postingStyle, coalesceMask: [.onName, .onSender], forModes: nil)
    }

    /// Enqueues a notification.
    ///
    /// - Parameters:
    ///   - notification: The notification to post.
    ///   - postingStyle: When to post. With `now` it is posted before this returns, unless the run loop runs in a mode
    ///     that is not one of `modes`; then it is not posted at all.
    ///   - coalesceMask: Pending notifications that are equal in all of these are dequeued; the new one is last. With
    ///     `[]` all stay.
    ///   - modes: The modes of the run loop in which it may be posted; nil for the default mode. `.common` means the
    ///     default mode and the others that were added to the common modes.
    public func enqueue(
        _ notification: Notification, postingStyle: PostingStyle, coalesceMask: NotificationCoalescing,
        forModes modes: [RunLoop.Mode]?
    ) {
        let modes = modes ?? [.default]
        let pending = PendingNotification(notification)
        dequeue(like: pending, in: coalesceMask)
        switch postingStyle {
        case .now:
            if modes.accept(RunLoop.current.currentMode) { center.post(notification) }
        case .asap:
            soon.append(pending, modes: modes)
            for mode in modes { schedulePosts(soonIn: mode) }
        case .whenIdle:
            idle.append(pending, modes: modes)
            for mode in modes { schedulePosts(idleIn: mode) }
        }
    }

    /// Dequeues the pending notifications that are equal to this one in all that the mask names. With `[]` none is.
    public func dequeueNotifications(matching notification: Notification, coalesceMask: NotificationCoalescing) {
        dequeue(like: PendingNotification(notification), in: coalesceMask)
    }

    private func dequeue(like pending: PendingNotification, in mask: NotificationCoalescing) {
        if mask.isDisjoint(with: [.onName, .onSender]) { return }
        for list in [\CompatibleNotificationQueue.soon, \.idle] {
            // Comparing, and releasing what is removed, may run code that uses this queue.
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

    /// Posts what is pending now and may be posted in the mode of the run loop, except what observers dequeue
    /// meanwhile.
    private func post(
        _ list: ReferenceWritableKeyPath<CompatibleNotificationQueue, PendingNotifications>, in mode: RunLoop.Mode,
        leavingOthersTo schedulePosts: (RunLoop.Mode) -> Void
    ) {
        let current = RunLoop.current.currentMode ?? mode
        let ready = self[keyPath: list].inOrder.filter { $0.modes.accept(current) }.map(\.number)
        // An observer may itself run the run loop, which then has to post the others.
        if ready.count > 1 { schedulePosts(mode) }
        for number in ready {
            guard let entry = self[keyPath: list].take(number) else { continue }
            center.post(entry.pending.notification)
        }
    }
}

extension [RunLoop.Mode] {
    /// Whether these modes include the current one. Without a running run loop any do. Foundation does not tell which
    /// modes are common; the default mode always is.
    func accept(_ mode: RunLoop.Mode?) -> Bool {
        guard let mode else { return true }
        return contains(mode) || mode == .default && contains(.common)
    }
}
