/// Where an observer runs that does not run on the poster's thread.
///
/// ```swift
/// let token = center.observe(name, on: .queue { queue.async(execute: $0) }) { print($0.name) }
/// ```
public struct ObserverExecutor: Sendable {
    /// How many calls run at once if nothing else is said.
    public static let defaultConcurrency = 64

    /// What runs the tasks, if not Swift's own threads.
    let executor: (any TaskExecutor)?
    /// How many calls may run at once.
    let concurrency: Int

    /// Whether it is one call after another, on Swift's own threads.
    var isDefault: Bool { executor == nil && concurrency == 1 }

    /// In tasks, one call after another, in the order of the posts.
    public static let serially = ObserverExecutor(executor: nil, concurrency: 1)

    /// In tasks, up to ``defaultConcurrency`` calls at once, which are handed out in the order of the posts and may overtake
    /// each other from there.
    public static let concurrently = concurrently(atMost: defaultConcurrency)

    /// In tasks, several calls at once, at least 1, which are handed out in the order of the posts and may overtake each
    /// other from there.
    public static func concurrently(atMost limit: Int) -> ObserverExecutor {
        precondition(limit > 0, "the limit of concurrent calls must be at least 1")
        return ObserverExecutor(executor: nil, concurrency: limit)
    }

    /// On a queue, one call after another, in the order of the posts, also if the queue itself runs several things at once.
    ///
    /// Several calls may be one piece of work for the queue. An `async` closure is on the queue between its suspensions.
    ///
    /// - Parameter enqueue: Has the queue run what it is handed, once, and returns without waiting for it. It is called on
    ///   the poster's thread or on the queue: `{ queue.async(execute: $0) }`.
    public static func queue(
        _ enqueue: @escaping @Sendable (_ work: @escaping @Sendable () -> Void) -> Void
    ) -> ObserverExecutor {
        ObserverExecutor(executor: QueueExecutor(enqueue), concurrency: 1)
    }
}

/// Runs tasks on somebody's queue.
private final class QueueExecutor: TaskExecutor {
    private let enqueueWork: @Sendable (@escaping @Sendable () -> Void) -> Void

    init(_ enqueueWork: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void) {
        self.enqueueWork = enqueueWork
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        enqueueWork { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
