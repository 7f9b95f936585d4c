import Foundation

/// A thread that waits for something to be done on a queue.
///
/// It can itself be needed: what runs on the queue may post again, to an observer on the queue that this thread stands for.
/// That one would wait for the thread, and the thread for it. So whoever comes to run on a queue looks first whether
/// somebody on this queue waits for him, and lets that thread do it.
///
/// Sendable is not checked because of the variables under `changes`.
final class Hop: @unchecked Sendable {
    /// The thread that waits for what runs here.
    @TaskLocal private static var waiting: Hop?

    /// Guards all below.
    private let changes = NSCondition()
    /// The queue that the thread was on, and who waits for that in turn. Nil when it waits no more: a task that was started
    /// here keeps this, and if it posts as well, each such task would keep all that were before it.
    private var origin: OperationQueue?
    private var outer: Hop?
    private var errands: [@Sendable () -> Void] = []
    private var isDone = false

    private init(origin: OperationQueue?, outer: Hop?) {
        self.origin = origin
        self.outer = outer
    }

    /// Runs the body on a queue, and returns when it has run. The queue may drop it, by cancelling its operations.
    static func run(on queue: OperationQueue, _ body: @escaping @Sendable () -> Void) {
        let current = OperationQueue.current
        if current === queue { return body() }
        Hop(origin: current, outer: waiting).travel(to: queue, body)
    }

    private func travel(to queue: OperationQueue, _ body: @escaping @Sendable () -> Void) {
        let errand: @Sendable () -> Void = {
            Hop.$waiting.withValue(self) { body() }
            self.finish()
        }
        if !isTaken(errand, for: queue) {
            let operation = BlockOperation(block: errand)
            // Also if the operation was cancelled.
            operation.completionBlock = { self.finish() }
            queue.addOperation(operation)
        }
        serve()
    }

    /// Whether a thread that was on this queue, and waits for this one, does it.
    private func isTaken(_ errand: @escaping @Sendable () -> Void, for queue: OperationQueue) -> Bool {
        var next = changes.withLock { outer }
        while let hop = next {
            let answer = hop.accept(errand, for: queue)
            if answer.isAccepted { return true }
            next = answer.outer
        }
        return false
    }

    private func accept(
        _ errand: @escaping @Sendable () -> Void, for queue: OperationQueue
    ) -> (isAccepted: Bool, outer: Hop?) {
        changes.withLock {
            if isDone || origin !== queue { return (false, outer) }
            errands.append(errand)
            changes.signal()
            return (true, nil)
        }
    }

    private func finish() {
        let dropped = changes.withLock {
            isDone = true
            changes.signal()
            defer { (origin, outer) = (nil, nil) }
            return (origin, outer)
        }
        withExtendedLifetime(dropped) {}
    }

    /// Waits, and does what this thread is asked for meanwhile.
    private func serve() {
        while true {
            let errand = changes.withLock { () -> (@Sendable () -> Void)? in
                while errands.isEmpty && !isDone { changes.wait() }
                return errands.isEmpty ? nil : errands.removeFirst()
            }
            guard let errand else { return }
            errand()
        }
    }
}
