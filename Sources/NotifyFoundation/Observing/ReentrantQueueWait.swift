import Foundation

/// A thread's wait for work on an operation queue.
///
/// The work may post to an observer on the queue that the waiting thread occupies. That observer would wait for the
/// thread, and the thread would wait for the work: a deadlock. So if a thread on the target queue waits for the poster,
/// directly or through other threads, that thread runs the work. Otherwise the work is added to the queue.
///
/// `@unchecked Sendable`: all mutable properties are only accessed while `changes` is locked.
final class ReentrantQueueWait: @unchecked Sendable {
    /// The wait for the work that the current code is part of.
    @TaskLocal private static var current: ReentrantQueueWait?

    /// Guards the variables below.
    private let changes = NSCondition()
    /// The queue of the waiting thread, and the wait for the work that this thread itself runs, if any. Both are nil
    /// after the wait: a task started by the work retains this object, and a chain of posting tasks must not retain all
    /// earlier waits.
    private var origin: OperationQueue?
    private var outer: ReentrantQueueWait?
    private var pendingWork: [@Sendable () -> Void] = []
    private var isDone = false

    private init(origin: OperationQueue?, outer: ReentrantQueueWait?) {
        self.origin = origin
        self.outer = outer
    }

    /// Runs the work on a queue. Returns when the work is done, or when the queue has dropped the work because its
    /// operation was cancelled. If the caller is already on that queue, runs the work in place.
    static func run(on queue: OperationQueue, _ work: @escaping @Sendable () -> Void) {
        let origin = OperationQueue.current
        if origin === queue { return work() }
        ReentrantQueueWait(origin: origin, outer: current).run(on: queue, work)
    }

    private func run(on queue: OperationQueue, _ work: @escaping @Sendable () -> Void) {
        let work: @Sendable () -> Void = {
            Self.$current.withValue(self) { work() }
            self.finish()
        }
        if !isAccepted(work, for: queue) {
            let operation = BlockOperation(block: work)
            // The completion block also runs if the operation was cancelled.
            operation.completionBlock = { self.finish() }
            queue.addOperation(operation)
        }
        runPendingWorkUntilDone()
    }

    /// Passes the work to a thread on this queue that waits for the current thread.
    ///
    /// - Returns: Whether there is such a thread.
    private func isAccepted(_ work: @escaping @Sendable () -> Void, for queue: OperationQueue) -> Bool {
        var next = changes.withLock { outer }
        while let wait = next {
            let answer = wait.accept(work, for: queue)
            if answer.isAccepted { return true }
            next = answer.outer
        }
        return false
    }

    private func accept(
        _ work: @escaping @Sendable () -> Void, for queue: OperationQueue
    ) -> (isAccepted: Bool, outer: ReentrantQueueWait?) {
        changes.withLock {
            if isDone || origin !== queue { return (false, outer) }
            pendingWork.append(work)
            changes.signal()
            return (true, nil)
        }
    }

    private func finish() {
        let released = changes.withLock {
            isDone = true
            changes.signal()
            defer { (origin, outer) = (nil, nil) }
            return (origin, outer)
        }
        // The references are released outside the lock.
        withExtendedLifetime(released) {}
    }

    private func runPendingWorkUntilDone() {
        while true {
            let work = changes.withLock { () -> (@Sendable () -> Void)? in
                while pendingWork.isEmpty && !isDone { changes.wait() }
                return pendingWork.isEmpty ? nil : pendingWork.removeFirst()
            }
            guard let work else { return }
            work()
        }
    }
}
