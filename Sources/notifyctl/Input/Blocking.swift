import Glibc
import NIOPosix

/// Runs blocking system calls on a thread pool, so that they do not block Swift's cooperative threads.
enum Blocking {
    /// Three threads, because three calls of a command may block at the same time. In `post --lines`, one call waits
    /// until the reader of the output closes it, one waits for input, and one waits until the output is writable.
    private static let pool = {
        let pool = NIOThreadPool(numberOfThreads: 3)
        pool.start()
        return pool
    }()

    /// Runs `body` on a thread of the pool.
    ///
    /// - Throws: The error of `body`; `CancellationError` if the task was cancelled before `body` began.
    static func run<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
        try await pool.runIfActive(body)
    }

    /// The executor that runs tasks on threads of the pool.
    static let executor: some TaskExecutor = PoolExecutor()

    private final class PoolExecutor: TaskExecutor {
        func enqueue(_ job: consuming ExecutorJob) {
            let job = UnownedJob(job)
            pool.submit { _ in job.runSynchronously(on: self.asUnownedTaskExecutor()) }
        }
    }

    /// Polls descriptors. Negative descriptors are ignored.
    ///
    /// - Parameters:
    ///   - entries: Descriptors, with the events to wait for.
    ///   - isWaiting: Whether to block until a descriptor has an event; otherwise the call returns at once.
    ///   - limitMilliseconds: The time limit for blocking; nil for none.
    /// - Returns: The events of each descriptor.
    static func poll(
        _ entries: [(descriptor: Int32, events: Int32)], isWaiting: Bool, limitMilliseconds: Int32? = nil
    ) -> [Int32] {
        var descriptors = entries.map { pollfd(fd: $0.descriptor, events: Int16($0.events), revents: 0) }
        let limit = isWaiting ? limitMilliseconds ?? -1 : 0
        while Glibc.poll(&descriptors, nfds_t(descriptors.count), limit) < 0 && errno == EINTR {}
        return descriptors.map { Int32($0.revents) }
    }
}
