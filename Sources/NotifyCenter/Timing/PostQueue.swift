/// Posts at the end of an executor's current turn instead of now, and can coalesce what is equal.
///
/// What is enqueued waits for the end of the current turn of an executor, such as the main queue, and is posted there, first
/// in first out. ``enqueue(_:object:_:)`` posts every message. ``enqueueLatest(_:object:_:)`` replaces a message of the same
/// type that waits, so that many changes within one turn reach the observers once, with the last one's contents;
/// ``enqueueLatest(_:per:object:_:)`` does so for messages that are equal in one property:
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
/// The queue hands the executor one job for each turn in which something waits. What is enqueued while that job posts is
/// posted in the next turn. What waits is kept, with payload and object, and is posted even if the queue is released. Several
/// queues may post to one center. All members may be called on any thread, also by observers, but not by the `==` and
/// `hash(into:)` of a value that is an object or a key: see ``NotificationObject/init(value:)``.
///
/// Notifications that are enqueued by name are coalesced as Foundation's `NotificationQueue` does it, where the caller says
/// so: see ``enqueue(_:_:coalescing:keeping:)``.
public final class PostQueue: Sendable {
    /// Runs a job later, and not within the call: `{ DispatchQueue.main.async(execute: $0) }`.
    public typealias Executor = @Sendable (_ job: @escaping @Sendable () -> Void) -> Void

    /// When to post.
    public enum PostingStyle: Sendable, Hashable {
        /// Before ``PostQueue/enqueue(_:_:coalescing:keeping:)`` returns, on the caller's thread. What waits and is equal
        /// is dropped.
        case now

        /// At the end of the current turn of the executor.
        case soon

        /// In a turn in which the queue has nothing to post that is more urgent.
        case whenIdle
    }

    /// What makes notifications equal, so that they are coalesced: they are if all of it is equal.
    public struct Coalescing: OptionSet, Sendable, Hashable {
        /// The bits.
        public let rawValue: UInt8

        /// Makes a set of bits.
        public init(rawValue: UInt8) {
            self.rawValue = rawValue
        }

        /// Their names.
        public static let name = Coalescing(rawValue: 1)

        /// Their objects. Notifications without object are equal in this.
        public static let object = Coalescing(rawValue: 2)

        /// No notification is coalesced.
        public static let nothing: Coalescing = []
    }

    /// Which one of coalesced notifications is posted, at the first one's position in the queue.
    public enum Keeping: Sendable, Hashable {
        /// The first that was enqueued. This is what Foundation documents.
        case first

        /// The one that was enqueued last, which has the newest payload.
        case latest
    }

    /// The outcome of enqueueing a notification.
    public enum Outcome: Sendable, Hashable {
        /// It has been posted.
        case posted

        /// It waits.
        case queued

        /// It was coalesced with one that waits.
        case coalesced

        /// It will not be posted: the queue is full.
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

    /// Makes a queue.
    ///
    /// - Parameters:
    ///   - center: Where to post.
    ///   - limit: How many may wait at once, at least 1. Others are refused and counted.
    ///   - executor: Runs what it is given later. Its thread is the one that observers are called on.
    public convenience init(center: LocalCenter = .default, limit: Int = 1_024, executor: @escaping Executor) {
        self.init(limit: limit, executor: executor) { center.post($0) }
    }

    /// Makes a queue that posts on an actor, such as `MainActor.shared`.
    ///
    /// - Parameters:
    ///   - center: Where to post.
    ///   - limit: How many may wait at once, at least 1. Others are refused and counted.
    ///   - actor: Whose turn it posts at the end of, and on whose executor observers are called.
    public convenience init(center: LocalCenter = .default, limit: Int = 1_024, actor: any Actor) {
        // A task for the main actor begins there. Another one takes a way over other threads.
        let isOnMain = actor === MainActor.shared
        self.init(center: center, limit: limit) { job in
            if isOnMain {
                Task.detached { @MainActor in job() }
            } else {
                Task.detached { await Self.run(job, on: actor) }
            }
        }
    }

    /// Makes a queue that posts in a way of its own.
    package init(
        limit: Int, executor: @escaping Executor, post: @escaping @Sendable (LocalNotification) -> Void
    ) {
        precondition(limit > 0, "the limit of queued notifications must be at least 1")
        state = Lock(State(backlog: PostBacklog(limit: limit)))
        self.executor = executor
        self.post = post
    }

    private static func run(_ job: () -> Void, on actor: isolated any Actor) { job() }

    /// How many wait.
    public var count: Int { state.withLock { $0.backlog.count } }

    /// How many were refused because as many waited as may wait.
    public var refusedCount: Int { state.withLock { $0.refusedCount } }
}

// MARK: - In and out

extension PostQueue {
    /// Posts a notification now or later. It is coalesced with what waits only if the caller says what makes them equal.
    ///
    /// - Parameters:
    ///   - notification: What to post.
    ///   - style: When. Of coalesced notifications, the most urgent says when they are posted.
    ///   - coalescing: What makes it equal to one that waits, whatever that one was enqueued with. Of those that are equal,
    ///     one is posted and the others are dropped.
    ///   - keeping: Which of them is posted.
    /// - Returns: The outcome.
    @discardableResult
    public func enqueue(
        _ notification: LocalNotification, _ style: PostingStyle = .soon, coalescing: Coalescing = .nothing,
        keeping: Keeping = .latest
    ) -> Outcome {
        enqueue(notification, style, PostBacklog.Equality(coalescing: coalescing), keeping: keeping)
    }

    /// Posts a notification now or later. See ``enqueue(_:_:coalescing:keeping:)``.
    @discardableResult
    public func enqueue(
        _ name: NotificationName, object: NotificationObject? = nil, payload: (any Sendable)? = nil,
        _ style: PostingStyle = .soon, coalescing: Coalescing = .nothing, keeping: Keeping = .latest
    ) -> Outcome {
        enqueue(
            LocalNotification(name: name, object: object, payload: payload), style, coalescing: coalescing,
            keeping: keeping)
    }

    /// Drops what waits and is equal to a notification. With ``Coalescing/nothing`` this is nothing.
    ///
    /// - Returns: How many were dropped.
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
        // Released without the lock: what payloads do as they are released may come back here.
        state.withLock { $0.backlog.remove(matching: notification, equality) }.count
    }
}

// MARK: - Turns

extension PostQueue {
    private func scheduleTurn() {
        executor { self.runTurn() }
    }

    /// Posts what waited when the turn ended. One after another is taken out only as its time comes, so that observers can
    /// still drop or join those behind.
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
