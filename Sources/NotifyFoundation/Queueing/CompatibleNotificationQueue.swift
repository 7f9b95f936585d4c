public import Foundation
import NotifyCenter

/// Foundation's `NotificationQueue`, over a ``CompatibleNotificationCenter``: posts that wait for the run loop, and of which
/// those that say the same are joined.
///
/// ```swift
/// typealias NotificationQueue = CompatibleNotificationQueue
///
/// NotificationQueue.default.enqueue(Notification(name: .didChange, object: self), postingStyle: .asap)
/// ```
///
/// What waits is posted in the order in which it was enqueued (Foundation on Linux begins with the last), by the thread that
/// enqueued it, when that thread runs its run loop in one of the modes that were asked for. Threads that run none, such as
/// those of Swift's tasks, never post it. A queue stays until all that waits in it is posted.
///
/// An observer may run the run loop: what still waits is posted there. What it takes out of the queue is not posted.
///
/// A run loop is woken by a timer, and Foundation on Linux never frees one: about 400 bytes stay. The main thread has one for
/// each mode, for good. On another thread that would keep the run loop from ending, so there a timer goes when it had no use
/// for a while, ten milliseconds at first and as much longer for each one that follows. A thread leaves one behind at least,
/// a few if it enqueues all the time, and if it does so once a second a hundred in all; then its run loop ends a second later
/// than it could.
///
/// A queue belongs to the thread that made it and must not be used by another one.
public final class CompatibleNotificationQueue: NSObject {
    /// When a notification is posted: `now`, `asap` (at the end of what the run loop is doing), or `whenIdle` (when the run
    /// loop has nothing else to do).
    public typealias PostingStyle = Foundation.NotificationQueue.PostingStyle

    /// What makes two notifications one: the same name, the same object, or both.
    public typealias NotificationCoalescing = Foundation.NotificationQueue.NotificationCoalescing

    private let center: CompatibleNotificationCenter
    private var soon = PendingNotifications()
    private var idle = PendingNotifications()

    /// Makes a queue for the thread that calls this.
    public init(notificationCenter: CompatibleNotificationCenter) {
        center = notificationCenter
    }

    /// The queue of the thread that asks, over the default center.
    public static var `default`: CompatibleNotificationQueue {
        let key = "NotifyFoundation.CompatibleNotificationQueue"
        let things = Thread.current.threadDictionary
        if let queue = things[key] as? CompatibleNotificationQueue { return queue }
        let queue = CompatibleNotificationQueue(notificationCenter: .default)
        things[key] = queue
        return queue
    }
}

@available(*, unavailable)
extension CompatibleNotificationQueue: @unchecked Sendable {}

extension CompatibleNotificationQueue {
    /// Enqueues a notification in the default mode, in place of those that wait with the same name and object.
    public func enqueue(_ notification: Notification, postingStyle: PostingStyle) {
        enqueue(notification, postingStyle: postingStyle, coalesceMask: [.onName, .onSender], forModes: nil)
    }

    /// Enqueues a notification.
    ///
    /// - Parameters:
    ///   - notification: What to post.
    ///   - postingStyle: When. With `now` it is posted before this returns, unless the run loop runs in another mode; then it
    ///     is not posted at all.
    ///   - coalesceMask: Those that wait and are the same in all of this go; the new one comes last. With `[]` all stay.
    ///   - modes: In which modes of the run loop it may be posted, nil for the default mode. `.common` stands for the default
    ///     mode and for those that the run loop treats like it.
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

    /// Takes out the notifications that wait and are the same as this one in all that the mask says. With `[]` none is.
    public func dequeueNotifications(matching notification: Notification, coalesceMask: NotificationCoalescing) {
        dequeue(like: PendingNotification(notification), in: coalesceMask)
    }

    private func dequeue(like pending: PendingNotification, in mask: NotificationCoalescing) {
        if mask.isDisjoint(with: [.onName, .onSender]) { return }
        for list in [\CompatibleNotificationQueue.soon, \.idle] {
            // Comparing, and letting go of what is taken out, may run code that comes back to this queue.
            let same = self[keyPath: list].entries.values.filter { $0.pending.isSame(as: pending, in: mask) }
            for entry in same.sorted(by: { $0.number < $1.number }) { _ = self[keyPath: list].take(entry.number) }
        }
    }
}

// MARK: - The run loop

extension CompatibleNotificationQueue {
    private func schedulePosts(soonIn mode: RunLoop.Mode) {
        guard soon.scheduledModes.insert(mode).inserted else { return }
        RunLoopAlarm.ofThisThread.performSoon(in: mode) {
            self.soon.scheduledModes.remove(mode)
            self.postSoon(in: mode)
        }
    }

    private func schedulePosts(idleIn mode: RunLoop.Mode) {
        guard idle.scheduledModes.insert(mode).inserted else { return }
        RunLoopAlarm.ofThisThread.performWhenIdle(in: mode) {
            self.idle.scheduledModes.remove(mode)
            self.postSoon(in: mode)
            self.post(\.idle, in: mode, leavingOthersTo: self.schedulePosts(idleIn:))
        }
    }

    private func postSoon(in mode: RunLoop.Mode) {
        post(\.soon, in: mode, leavingOthersTo: schedulePosts(soonIn:))
    }

    /// Posts what waits now and may be posted in the mode that the run loop is in, save what observers take out meanwhile.
    private func post(
        _ list: ReferenceWritableKeyPath<CompatibleNotificationQueue, PendingNotifications>, in mode: RunLoop.Mode,
        leavingOthersTo schedulePosts: (RunLoop.Mode) -> Void
    ) {
        let current = RunLoop.current.currentMode ?? mode
        let ready = self[keyPath: list].inOrder.filter { $0.modes.accept(current) }.map(\.number)
        // An observer may itself run the run loop, which then has to come to the others.
        if ready.count > 1 { schedulePosts(mode) }
        for number in ready {
            guard let entry = self[keyPath: list].take(number) else { continue }
            center.post(entry.pending.notification)
        }
    }
}

extension [RunLoop.Mode] {
    /// Whether what is asked for in these modes may happen in this one, or without a run loop. Of the modes that are like the
    /// default one, that itself is the only one that Foundation tells of.
    func accept(_ mode: RunLoop.Mode?) -> Bool {
        guard let mode else { return true }
        return contains(mode) || mode == .default && contains(.common)
    }
}
