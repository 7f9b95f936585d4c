/// Posts soon instead of now, and posts that say the same only once.
///
/// What is enqueued waits for the end of the current turn of an executor, such as the main queue, and is posted there, first
/// in first out. A notification that joins one that is waiting already is not posted again, so that many changes within one
/// turn reach the observers once:
///
/// ```swift
/// let queue = PostQueue(center: center) { DispatchQueue.main.async(execute: $0) }
/// for item in items {
///     update(item)
///     queue.enqueue(listChanged)  // posted once, when this is over
/// }
/// ```
///
/// The queue hands the executor one job for each turn in which something waits. What is enqueued while that job posts is
/// posted in the next turn. What waits is kept, with payload and object, and is posted even if nobody holds the queue any
/// more. Several queues may post to one center. All members may be called on any thread, also by observers, but not by the
/// `==` and `hash(into:)` of a value that is an object: see ``NotificationObject/init(value:)``.
///
/// It does what Foundation's `NotificationQueue` does, with its documented rule for what is joined: the first stays.
public final class PostQueue: Sendable {
    /// Runs a job later, and not within the call: `{ DispatchQueue.main.async(execute: $0) }`.
    public typealias Executor = @Sendable (_ job: @escaping @Sendable () -> Void) -> Void

    /// When to post.
    public enum PostingStyle: Sendable, Hashable {
        /// Before ``PostQueue/enqueue(_:_:joining:keeping:)-(LocalNotification,_,_,_)`` returns, on the caller's thread. What
        /// waits and joins it is dropped.
        case now

        /// At the end of the current turn of the executor.
        case soon

        /// In a turn in which the queue has nothing to post that is more urgent.
        case whenIdle
    }

    /// What makes notifications the same: if all of it is equal, they join.
    public struct Joining: OptionSet, Sendable, Hashable {
        /// The bits.
        public let rawValue: UInt8

        /// Makes a set of bits.
        public init(rawValue: UInt8) {
            self.rawValue = rawValue
        }

        /// Their names.
        public static let name = Joining(rawValue: 1)

        /// Their objects. Notifications without object are equal in this.
        public static let object = Joining(rawValue: 2)

        /// Nothing joins.
        public static let nothing: Joining = []
    }

    /// Which notification is posted, of those that join. It is posted in place of the first in any case.
    public enum Keeping: Sendable, Hashable {
        /// The first that was enqueued. This is what Foundation documents.
        case first

        /// The one that was enqueued last, for who needs the newest payload.
        case latest
    }

    /// What became of a notification.
    public enum Outcome: Sendable, Hashable {
        /// It has been posted.
        case posted

        /// It waits.
        case queued

        /// It joined one that waits.
        case joined

        /// It is not going to be posted: as many wait as may wait.
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
        precondition(limit > 0, "a queue has room for one notification at least")
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
    /// Posts a notification now or later, unless it joins one that waits.
    ///
    /// - Parameters:
    ///   - notification: What to post.
    ///   - style: When. Of notifications that join, the most urgent says when they are posted.
    ///   - joining: What makes it the same as one that waits, whatever that one was enqueued with. All that are the same but
    ///     the first are dropped.
    ///   - keeping: Which one is posted if it joins another one.
    /// - Returns: What became of it.
    @discardableResult
    public func enqueue(
        _ notification: LocalNotification, _ style: PostingStyle = .soon, joining: Joining = [.name, .object],
        keeping: Keeping = .first
    ) -> Outcome {
        if style == .now {
            dequeue(matching: notification, joining: joining)
            post(notification)
            return .posted
        }
        let (addition, isTurnDue) = state.withLock { state in
            let addition = state.backlog.add(notification, style, joining: joining, keeping: keeping)
            if addition.outcome == .refused { state.refusedCount += 1 }
            let isTurnDue = addition.outcome == .queued && !state.isTurnScheduled
            if isTurnDue { state.isTurnScheduled = true }
            return (addition, isTurnDue)
        }
        if isTurnDue { scheduleTurn() }
        return addition.outcome
    }

    /// Posts a notification now or later, unless it joins one that waits. See
    /// ``enqueue(_:_:joining:keeping:)-(LocalNotification,_,_,_)``.
    @discardableResult
    public func enqueue(
        _ name: NotificationName, object: NotificationObject? = nil, payload: (any Sendable)? = nil,
        _ style: PostingStyle = .soon, joining: Joining = [.name, .object], keeping: Keeping = .first
    ) -> Outcome {
        enqueue(
            LocalNotification(name: name, object: object, payload: payload), style, joining: joining, keeping: keeping)
    }

    /// Posts a message now or later, unless it joins one that waits. See
    /// ``enqueue(_:_:joining:keeping:)-(LocalNotification,_,_,_)``.
    @discardableResult
    public func enqueue<Message: NotificationMessage>(
        _ message: Message, _ style: PostingStyle = .soon, joining: Joining = [.name, .object],
        keeping: Keeping = .first
    ) -> Outcome {
        enqueue(
            LocalNotification(name: Message.notificationName, object: message.notificationObject, payload: message),
            style, joining: joining, keeping: keeping)
    }

    /// Drops what waits and would join a notification. With ``Joining/nothing`` this is nothing.
    ///
    /// - Returns: How many were dropped.
    @discardableResult
    public func dequeue(matching notification: LocalNotification, joining: Joining = [.name, .object]) -> Int {
        // They go without the lock: what their payloads do as they go may come back here.
        state.withLock { $0.backlog.remove(matching: notification, joining: joining) }.count
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
