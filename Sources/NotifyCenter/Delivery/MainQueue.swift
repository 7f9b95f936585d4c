import Dispatch

/// Dispatch's main queue, which is the executor of the main actor.
package enum MainQueue {
    private static let key: DispatchSpecificKey<Void> = {
        let key = DispatchSpecificKey<Void>()
        DispatchQueue.main.setSpecific(key: key, value: ())
        return key
    }()

    /// Whether the current code runs on the main queue: in a job of the main actor, or in a block of the queue.
    ///
    /// Does not compare threads: if `main` is asynchronous or calls `dispatchMain()`, the main queue runs on other
    /// threads than the main thread.
    package static var isCurrent: Bool { DispatchQueue.getSpecific(key: key) != nil }

    /// Starts a task on the main actor. If the current code runs on the main actor or on the main queue, the task runs
    /// up to its first suspension before this function returns.
    @available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *)
    static func startTask(_ work: @escaping @MainActor @Sendable () async -> Void) {
        #if !canImport(Darwin)
            // The runtime recognizes the main actor by the current job or the main thread. A block of the main queue
            // has no job, and may run on any thread.
            if isCurrent {
                Task.detached(executorPreference: MainQueueExecutor.shared) {
                    _ = Task.immediateDetached(operation: work)
                }
                return
            }
        #endif
        Task.immediateDetached(operation: work)
    }
}

#if !canImport(Darwin)
    /// Runs jobs in place, as jobs of the main actor. Jobs must be enqueued on the main queue.
    private final class MainQueueExecutor: TaskExecutor {
        static let shared = MainQueueExecutor()

        func enqueue(_ job: consuming ExecutorJob) {
            UnownedJob(job).runSynchronously(
                isolatedTo: MainActor.sharedUnownedExecutor, taskExecutor: asUnownedTaskExecutor())
        }
    }
#endif
