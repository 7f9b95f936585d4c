import Foundation

/// A thread that waits until work on an operation queue is done.
///
/// The work may post in turn, to an observer on the queue that the waiting thread was on. That observer would wait for
/// the thread, and the thread for the work: a deadlock. So work for a queue goes first to a thread that was on that
/// queue and waits, directly or through others, for the poster; such a thread runs it itself.
///
/// `@unchecked Sendable`: all mutable properties are only accessed while `changes` is locked.
final class ReentrantQueueWait: @unchecked Sendable {
    /// The wait of the thread for which the current code runs.
    @TaskLocal private static var current: ReentrantQueueWait?

    /// Guards the variables below.
    private let changes = NSCondition()
    /// The queue that the waiting thread was on, and the wait of the thread that waits for it in turn. Nil after the
    /// wait: a task that was started meanwhile keeps this object, and a chain of posting tasks must not keep all
    /// earlier ones.
    private var origin: OperationQueue?
    private var outer: ReentrantQueueWait?
    private var pendingWork: [@Sendable () -> Void] = []
    private var isDone = false

    private init(origin: OperationQueue?, outer: ReentrantQueueWait?) {
        self.origin = origin
        self.outer = outer
    }

    /// Runs the work on a queue, and returns when it is done, or when the queue has dropped it because its operations
    /// were cancelled. On that queue already, runs it in place.
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
            // Also runs if the operation was cancelled.
            operation.completionBlock = { self.finish() }
            queue.addOperation(operation)
        }
        runPendingWorkUntilDone()
    }

    /// Whether a thread that was on this queue, and waits for the current one, runs the work.
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
        // Outside the lock.
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
