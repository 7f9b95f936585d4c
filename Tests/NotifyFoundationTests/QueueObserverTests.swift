import Dispatch
import Foundation
import NotifyCenter
import NotifyFoundation
import TestSupport
import Testing

/// Observers that run on an operation queue. `post` returns after the observers have run. A post by such an observer
/// does not deadlock with the post that called the observer.
@Suite final class QueueObserverTests {
    private let center = CompatibleNotificationCenter()
    private let journal = Journal()
    private let name = NSNotification.Name("name")

    /// Breaks the reference cycles: blocks that post retain the center.
    deinit {
        center.center.removeAllObservations()
    }

    private func observe(
        _ name: NSNotification.Name, on queue: OperationQueue, _ body: @Sendable @escaping (Notification) -> Void
    ) {
        _ = center.addObserver(forName: name, object: nil, queue: queue, using: body)
    }

    private func serialQueue() -> OperationQueue {
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 1
        return queue
    }

    /// Runs `body` on a new thread, and fails if `body` does not return.
    private func mustReturn(
        sourceLocation: SourceLocation = #_sourceLocation, _ body: @escaping @Sendable () -> Void
    ) {
        let done = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            body()
            done.signal()
        }
        #expect(done.wait(timeout: .now() + 300) == .success, sourceLocation: sourceLocation)
    }

    @Test func `a block on a queue has run in order on that queue when post returns`() {
        let queue = serialQueue()
        _ = center.addObserver(forName: name, object: nil, queue: nil) { [journal] _ in journal.note("before") }
        observe(name, on: queue) { [journal] in
            journal.note("on queue \(OperationQueue.current === queue) \($0.userInfo?["n"] as? Int ?? 0)")
        }
        _ = center.addObserver(forName: name, object: nil, queue: nil) { [journal] _ in journal.note("after") }
        mustReturn { [center, name] in center.post(name: name, object: nil, userInfo: ["n": 3]) }
        #expect(journal.take() == ["before", "on queue true 3", "after"])
    }

    @Test func `the center retains the queue of an observation`() {
        observe(name, on: OperationQueue()) { [journal] _ in journal.note("called") }
        mustReturn { [center, name] in center.post(name: name, object: nil) }
        #expect(journal.take() == ["called"])
    }

    @Test func `posting from the same queue runs the block immediately`() {
        let queue = serialQueue()
        observe(name, on: queue) { [journal] _ in journal.note("called") }
        mustReturn { [center, name] in
            queue.addOperation { center.post(name: name, object: nil) }
            queue.waitUntilAllOperationsAreFinished()
        }
        #expect(journal.take() == ["called"])
    }

    @Test func `a post waits only for its own block on the queue`() {
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 2
        let release = DispatchSemaphore(value: 0)
        queue.addOperation { release.wait() }
        observe(name, on: queue) { [journal] _ in journal.note("called") }
        mustReturn { [center, name] in center.post(name: name, object: nil) }
        release.signal()
        queue.waitUntilAllOperationsAreFinished()
        #expect(journal.take() == ["called"])
    }

    @Test func `a post from a block back to the queue of the block's poster does not deadlock`() {
        let (first, second) = (serialQueue(), serialQueue())
        let back = NSNotification.Name("back")
        observe(name, on: second) { [center, journal] _ in
            journal.note("there")
            center.post(name: back, object: nil)
            journal.note("there again")
        }
        observe(back, on: first) { [journal] _ in journal.note("back \(OperationQueue.current === first)") }
        mustReturn { [center, name] in
            first.addOperation { center.post(name: name, object: nil) }
            first.waitUntilAllOperationsAreFinished()
        }
        #expect(journal.take() == ["there", "back true", "there again"])
    }

    @Test(.timeLimit(.minutes(25)))
    func `a task that outlives its block can post to the queue of the block's poster`() async {
        let (first, second) = (serialQueue(), serialQueue())
        let back = NSNotification.Name("back")
        let isOver = LateValue<Bool>()
        // A stream and not a semaphore: a semaphore would block the thread of this test, and the task may need that
        // thread.
        let (posts, done) = AsyncStream<Void>.makeStream()
        observe(name, on: second) { [center] _ in
            Task {
                while isOver.value == nil { await Task.yield() }
                center.post(name: back, object: nil)
                done.yield()
            }
        }
        observe(back, on: first) { [journal] _ in journal.note("back \(OperationQueue.current === first)") }
        mustReturn { [center, name] in
            first.addOperation { center.post(name: name, object: nil) }
            first.waitUntilAllOperationsAreFinished()
        }
        isOver.value = true
        #expect(await posts.first { _ in true } != nil)
        #expect(journal.take() == ["back true"])
    }

    @Test func `nested posts across three queues end`() {
        let queues = [serialQueue(), serialQueue(), serialQueue()]
        for depth in 0..<30 {
            observe(.init("\(depth)"), on: queues[depth % 3]) { [center, journal] _ in
                journal.note("\(depth) \(OperationQueue.current === queues[depth % 3])")
                center.post(name: .init("\(depth + 1)"), object: nil)
            }
        }
        mustReturn { [center] in center.post(name: .init("0"), object: nil) }
        #expect(journal.take() == (0..<30).map { "\($0) true" })
    }

    @Test func `a task started by a block does not retain the poster's queue`() {
        let (started, proceed) = AsyncStream.makeStream(of: Void.self)
        let task = LateValue<Task<Void, Never>>()
        observe(name, on: serialQueue()) { _ in
            task.value = Task { for await _ in started {} }
        }
        nonisolated(unsafe) weak var queue: OperationQueue?
        mustReturn { [center, name] in
            let poster = OperationQueue()
            queue = poster
            poster.addOperation { center.post(name: name, object: nil) }
            poster.waitUntilAllOperationsAreFinished()
        }
        // The queue may release its operation after the wait above has returned.
        let deadline = Date(timeIntervalSinceNow: 300)
        while queue != nil && Date() < deadline { sched_yield() }
        #expect(queue == nil)
        #expect(task.value?.isCancelled == false)
        proceed.finish()
    }

    @Test func `a block dropped by the queue does not block its poster`() {
        let queue = serialQueue()
        queue.isSuspended = true
        observe(name, on: queue) { [journal] _ in journal.note("called") }
        let posting = DispatchSemaphore(value: 0)
        Thread.detachNewThread { [center, name] in
            center.post(name: name, object: nil)
            posting.signal()
        }
        let deadline = Date(timeIntervalSinceNow: 300)
        while queue.operationCount == 0 && Date() < deadline { sched_yield() }
        queue.cancelAllOperations()
        queue.isSuspended = false
        #expect(posting.wait(timeout: .now() + 300) == .success)
        #expect(journal.take() == [])
    }

    /// A queue that signals each added operation.
    private final class ReportingQueue: OperationQueue, @unchecked Sendable {
        let additions = DispatchSemaphore(value: 0)

        override func addOperation(_ operation: Operation) {
            super.addOperation(operation)
            additions.signal()
        }
    }

    @Test(arguments: [true, false])
    func `a block removed while it waits for its queue is not called`(isRemovedBeneath: Bool) {
        let queue = ReportingQueue()
        queue.isSuspended = true
        // Safe: the token is only passed to the center, and the center accepts tokens on any thread.
        nonisolated(unsafe) let token = center.addObserver(forName: name, object: nil, queue: queue) { [journal] _ in
            journal.note("called")
        }
        mustReturn { [center, name] in
            let isPosted = DispatchSemaphore(value: 0)
            Thread.detachNewThread {
                center.post(name: name, object: nil)
                isPosted.signal()
            }
            queue.additions.wait()
            if isRemovedBeneath { center.center.removeAllObservations() } else { center.removeObserver(token) }
            queue.isSuspended = false
            isPosted.wait()
        }
        #expect(journal.take() == [])
    }
}
