/// The executor of an observer that does not run on the poster's thread.
///
/// ```swift
/// let token = center.observe(name, on: .queue { queue.async(execute: $0) }) { print($0.name) }
/// ```
public struct ObserverExecutor: Sendable {
    /// The default number of concurrent calls.
    public static let defaultConcurrency = 64

    /// The executor of the tasks; nil for Swift's own threads.
    let executor: (any TaskExecutor)?
    /// The maximum number of concurrent calls.
    let concurrency: Int

    /// Whether calls run serially on Swift's own threads.
    var isDefault: Bool { executor == nil && concurrency == 1 }

    /// Runs calls in tasks, one after another, in the order of the posts.
    public static let serially = ObserverExecutor(executor: nil, concurrency: 1)

    /// Runs up to ``defaultConcurrency`` calls concurrently in tasks. Calls start in the order of the posts, and may
    /// overtake each other.
    public static let concurrently = concurrently(atMost: defaultConcurrency)

    /// Runs up to `limit` calls concurrently in tasks. Calls start in the order of the posts, and may overtake each
    /// other.
    ///
    /// - Parameter limit: The maximum number of concurrent calls; at least 1.
    public static func concurrently(atMost limit: Int) -> ObserverExecutor {
        precondition(limit > 0, "the limit of concurrent calls must be at least 1")
        return ObserverExecutor(executor: nil, concurrency: limit)
    }

    /// Runs calls on a queue, one after another, in the order of the posts, even if the queue is concurrent.
    ///
    /// One work item of the queue may run several calls. An `async` closure runs on the queue between its suspensions.
    ///
    /// - Parameter enqueue: Adds a work item to the queue and returns without waiting for it, for example
    ///   `{ queue.async(execute: $0) }`. Called on the poster's thread, on the queue, or on any thread that resumes a
    ///   suspended closure.
    public static func queue(
        _ enqueue: @escaping @Sendable (_ work: @escaping @Sendable () -> Void) -> Void
    ) -> ObserverExecutor {
        ObserverExecutor(executor: QueueExecutor(enqueue), concurrency: 1)
    }
}

/// A task executor that runs jobs on a queue.
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
