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
            for mode in soon.append(pending, modes: modes) { schedulePosts(soonIn: mode) }
        case .whenIdle:
            for mode in idle.append(pending, modes: modes) { schedulePosts(idleIn: mode) }
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
            let waiting = self[keyPath: list].entries
            let numbers = Set(waiting.lazy.filter { $0.pending.isSame(as: pending, in: mask) }.map(\.number))
            let taken = self[keyPath: list].take(numbers)
            withExtendedLifetime(taken) {}
        }
    }
}

// MARK: - The run loop

extension CompatibleNotificationQueue {
    /// A block of the run loop runs at the end of what it is doing. Where it is about to sleep instead, only a timer wakes
    /// it.
    private func schedulePosts(soonIn mode: RunLoop.Mode) {
        let post = onThisThread { queue in
            queue.soon.scheduledModes.remove(mode)
            queue.postSoon(in: RunLoop.current.currentMode ?? mode)
        }
        RunLoop.current.perform(inModes: [mode], block: post)
        if RunLoop.current.currentMode != nil { addTimer(for: mode, post) }
    }

    /// The loop looks at timers when it has done everything else, and at those that are due earlier first.
    private func schedulePosts(idleIn mode: RunLoop.Mode) {
        let post = onThisThread { queue in
            queue.idle.scheduledModes.remove(mode)
            let current = RunLoop.current.currentMode ?? mode
            queue.postSoon(in: current)
            for entry in queue.idle.takeAll(in: current) { queue.center.post(entry.pending.notification) }
        }
        addTimer(for: mode, post)
    }

    private func postSoon(in mode: RunLoop.Mode) {
        for entry in soon.takeAll(in: mode) { center.post(entry.pending.notification) }
    }

    private func addTimer(for mode: RunLoop.Mode, _ body: @escaping @Sendable () -> Void) {
        RunLoop.current.add(Timer(fire: Date(), interval: 0, repeats: false) { _ in body() }, forMode: mode)
    }

    /// The run loop asks for closures that may run on any thread, but runs them on its own, which is this one.
    private func onThisThread(_ body: @escaping (CompatibleNotificationQueue) -> Void) -> @Sendable () -> Void {
        nonisolated(unsafe) let (queue, body) = (self, body)
        return { body(queue) }
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
