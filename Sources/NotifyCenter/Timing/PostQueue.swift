/// A queue that posts at the end of an executor's current turn, and can coalesce equal notifications.
///
/// Enqueued notifications are pending until the end of the current turn of an executor, such as the main queue, and are
/// posted there in FIFO order. ``enqueue(_:object:_:)`` posts every message. ``enqueueLatest(_:object:_:)`` replaces a
/// pending message of the same type, so that observers get only the last of many changes within one turn.
/// ``enqueueLatest(_:per:object:_:)`` replaces a pending message that has an equal property:
///
/// ```swift
/// let queue = PostQueue(center: center) { DispatchQueue.main.async(execute: $0) }
/// for item in items {
///     update(item)
///     queue.enqueue(ItemChanged(id: item.id))        // posts every one
///     queue.enqueueLatest(ListChanged(last: item.id))  // posts the last one of this turn
/// }
/// ```
///
/// The queue schedules one job on the executor for each turn with pending notifications. Notifications that are
/// enqueued during the job are posted in the next turn. Pending notifications are held with their payloads and objects,
/// and are posted even if the queue is released. Several queues may post to one center.
///
/// All members may be called on any thread, also by observers, but not by the `==` and `hash(into:)` of a value that is
/// an object or a key: see ``NotificationObject/init(value:)``.
///
/// Notifications enqueued by name can be coalesced by the rules of Foundation's `NotificationQueue`: see
/// ``enqueue(_:_:coalescing:keeping:)``.
public final class PostQueue: Sendable {
    /// A closure that schedules a job and returns before the job runs: `{ DispatchQueue.main.async(execute: $0) }`.
    public typealias Executor = @Sendable (_ job: @escaping @Sendable () -> Void) -> Void

    /// The time at which a notification is posted.
    public enum PostingStyle: Sendable, Hashable {
        /// Before ``PostQueue/enqueue(_:_:coalescing:keeping:)`` returns, on the caller's thread. Equal pending
        /// notifications are dropped.
        case now

        /// At the end of the current turn of the executor.
        case soon

        /// In a turn without pending notifications of a more urgent style.
        case whenIdle
    }

    /// The properties to compare. Notifications are coalesced if all these properties are equal.
    public struct Coalescing: OptionSet, Sendable, Hashable {
        /// The raw bits.
        public let rawValue: UInt8

        /// Creates a set from its bits.
        public init(rawValue: UInt8) {
            self.rawValue = rawValue
        }

        /// The names.
        public static let name = Coalescing(rawValue: 1)

        /// The objects. Notifications without an object are equal in this respect.
        public static let object = Coalescing(rawValue: 2)

        /// No property: notifications are not coalesced.
        public static let nothing: Coalescing = []
    }

    /// Selects which of several coalesced notifications is posted. It takes the position of the first pending one of
    /// the most urgent style; if only the new one is urgent, the last position.
    public enum Keeping: Sendable, Hashable {
        /// The first enqueued, as Foundation documents.
        case first

        /// The last enqueued, with the newest payload.
        case latest
    }

    /// The outcome of enqueueing a notification.
    public enum Outcome: Sendable, Hashable {
        /// The notification was posted.
        case posted

        /// The notification is pending.
        case queued

        /// The notification was coalesced with a pending one.
        case coalesced

        /// The notification is not posted, because the queue is full.
        case refused
    }

    private struct State: Sendable {
        var backlog: PostBacklog
        var isTurnScheduled = false
        var refusedCount = 0
    }

    private let state: Lock<State>
    private let executor: Executor
    private let post: @Sendable (LocalNotification) -> Void

    /// Creates a queue.
    ///
    /// - Parameters:
    ///   - center: The center to post to.
    ///   - limit: The maximum number of pending notifications; at least 1. Further notifications are refused and
    ///     counted.
    ///   - executor: Runs a job later. The job calls the observers.
    public convenience init(center: LocalCenter = .default, limit: Int = 1_024, executor: @escaping Executor) {
        self.init(limit: limit, executor: executor) { center.post($0) }
    }

    /// Creates a queue that posts on an actor, such as `MainActor.shared`.
    ///
    /// - Parameters:
    ///   - center: The center to post to.
    ///   - limit: The maximum number of pending notifications; at least 1. Further notifications are refused and
    ///     counted.
    ///   - actor: The actor on whose executor the queue posts and calls observers.
    public convenience init(center: LocalCenter = .default, limit: Int = 1_024, actor: any Actor) {
        // A task isolated to the main actor starts on it. A task that hops to the actor starts on another thread first.
        let isOnMain = actor === MainActor.shared
        self.init(center: center, limit: limit) { job in
            if isOnMain {
                Task.detached { @MainActor in job() }
            } else {
                Task.detached { await Self.run(job, on: actor) }
            }
        }
    }

    /// Creates a queue with a custom function to post.
    package init(
        limit: Int, executor: @escaping Executor, post: @escaping @Sendable (LocalNotification) -> Void
    ) {
        precondition(limit > 0, "the limit of queued notifications must be at least 1")
        state = Lock(State(backlog: PostBacklog(limit: limit)))
        self.executor = executor
        self.post = post
    }

    private static func run(_ job: () -> Void, on actor: isolated any Actor) { job() }

    /// The number of pending notifications.
    public var count: Int { state.withLock { $0.backlog.count } }

    /// The number of notifications refused because the queue was full.
    public var refusedCount: Int { state.withLock { $0.refusedCount } }
}

// MARK: - Enqueueing

extension PostQueue {
    /// Posts a notification now or later, and coalesces it with equal pending ones if `coalescing` is not empty.
    ///
    /// - Parameters:
    ///   - notification: The notification to post.
    ///   - style: When to post. The most urgent style of coalesced notifications applies.
    ///   - coalescing: The properties to compare with all pending notifications, regardless of the `coalescing` that
    ///     these were enqueued with. One of the equal notifications is posted, and the others are dropped.
    ///   - keeping: Selects which of the equal notifications is posted.
    /// - Returns: The outcome.
    @discardableResult
    public func enqueue(
        _ notification: LocalNotification, _ style: PostingStyle = .soon, coalescing: Coalescing = .nothing,
        keeping: Keeping = .latest
    ) -> Outcome {
        enqueue(notification, style, PostBacklog.Equality(coalescing: coalescing), keeping: keeping)
    }

    /// Enqueues a notification. See ``enqueue(_:_:coalescing:keeping:)``.
    @discardableResult
    public func enqueue(
        _ name: NotificationName, object: NotificationObject? = nil, payload: (any Sendable)? = nil,
        _ style: PostingStyle = .soon, coalescing: Coalescing = .nothing, keeping: Keeping = .latest
    ) -> Outcome {
        enqueue(
            LocalNotification(name: name, object: object, payload: payload), style, coalescing: coalescing,
            keeping: keeping)
    }

    /// Drops the pending notifications that are equal to a notification; none with ``Coalescing/nothing``.
    ///
    /// - Returns: The number of dropped notifications.
    @discardableResult
    public func dequeue(matching notification: LocalNotification, coalescing: Coalescing = [.name, .object]) -> Int {
        dequeue(matching: notification, PostBacklog.Equality(coalescing: coalescing))
    }

    func enqueue(
        _ notification: LocalNotification, _ style: PostingStyle, _ equality: PostBacklog.Equality, keeping: Keeping
    ) -> Outcome {
        if style == .now {
            dequeue(matching: notification, equality)
            post(notification)
            return .posted
        }
        let (addition, isTurnDue) = state.withLock { state in
            let addition = state.backlog.add(notification, style, equality, keeping: keeping)
            if addition.outcome == .refused { state.refusedCount += 1 }
            let isTurnDue = addition.outcome == .queued && !state.isTurnScheduled
            if isTurnDue { state.isTurnScheduled = true }
            return (addition, isTurnDue)
        }
        if isTurnDue { scheduleTurn() }
        return addition.outcome
    }

    @discardableResult
    private func dequeue(matching notification: LocalNotification, _ equality: PostBacklog.Equality) -> Int {
        // The removed notifications are released outside the lock: deinitializers of payloads may call the queue.
        state.withLock { $0.backlog.remove(matching: notification, equality) }.count
    }
}

// MARK: - Turns

extension PostQueue {
    private func scheduleTurn() {
        executor { self.runTurn() }
    }

    /// Posts the notifications of one turn (see ``PostBacklog/beginTurn()``). A notification stays pending until it is
    /// posted, so an observer of an earlier notification can still dequeue a later one, or enqueue one that coalesces
    /// with it.
    private func runTurn() {
        state.withLock { $0.backlog.beginTurn() }
        while let notification = state.withLock({ $0.backlog.next() }) { post(notification) }
        let isMoreWaiting = state.withLock { state in
            state.isTurnScheduled = !state.backlog.isEmpty
            return state.isTurnScheduled
        }
        if isMoreWaiting { scheduleTurn() }
    }
}
