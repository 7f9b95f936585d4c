import TestSupport
import Testing

@testable import NotifyCenter

@Suite struct PostQueueTests {
    private let center = LocalCenter()
    private let executor = ManualExecutor()
    private let journal = Journal()
    private let queue: PostQueue
    private let token: ObservationToken
    private let first = NotificationName(literal: "first")
    private let second = NotificationName(literal: "second")
    private let third = NotificationName(literal: "third")
    private let all: PostQueue.Coalescing = [.name, .object]

    init() {
        queue = PostQueue(center: center, executor: executor.execute)
        token = center.observe(.every) { [journal] notification in
            let object = notification.object.map { " of \($0)" } ?? ""
            let payload = (notification.payload as? Int).map { " \($0)" } ?? ""
            journal.note(notification.name.string + object + payload)
        }
    }

    private func note(_ name: NotificationName, object: NotificationObject? = nil, _ payload: Int? = nil)
        -> LocalNotification
    {
        LocalNotification(name: name, object: object, payload: payload)
    }

    // MARK: Turns

    @Test func `notifications are posted in order at the end of the turn`() {
        #expect(queue.enqueue(first, payload: 1) == .queued)
        #expect(queue.enqueue(second) == .queued)
        #expect(queue.enqueue(third, object: "x") == .queued)
        #expect(queue.count == 3)
        #expect(executor.jobCount == 1)
        #expect(journal.take() == [])
        executor.endTurn()
        #expect(journal.take() == ["first 1", "second", "third of x"])
        #expect(queue.count == 0)
        #expect(executor.jobCount == 0)
    }

    @Test func `each turn has its own job`() {
        queue.enqueue(first)
        executor.endTurn()
        queue.enqueue(second)
        #expect(executor.jobCount == 1)
        executor.endTurn()
        #expect(journal.take() == ["first", "second"])
    }

    @Test func `a notification enqueued by an observer is posted in the next turn`() {
        let again = center.observe(first) { [queue, second] _ in
            queue.enqueue(second)
            queue.enqueue(second)
        }
        queue.enqueue(first)
        queue.enqueue(third)
        executor.endTurn()
        #expect(journal.take() == ["first", "third"])
        #expect(queue.count == 2)
        #expect(executor.jobCount == 1)
        executor.endTurn()
        #expect(journal.take() == ["second", "second"])
        again.cancel()
    }

    @Test func `an observer that always enqueues its notification again runs once per turn`() {
        let again = center.observe(first) { [queue, first] _ in queue.enqueue(first) }
        queue.enqueue(first)
        for _ in 0..<10 {
            executor.endTurn()
            #expect(journal.take() == ["first"])
            #expect(queue.count == 1)
        }
        again.cancel()
        executor.endTurn()
        #expect(queue.count == 0)
    }

    @Test func `idle notifications are posted only when none are urgent`() {
        queue.enqueue(first, .whenIdle)
        queue.enqueue(second, .soon)
        executor.endTurn()
        #expect(journal.take() == ["second"])
        #expect(executor.jobCount == 1)
        queue.enqueue(third, .soon)
        executor.endTurn()
        #expect(journal.take() == ["third"])
        executor.endTurn()
        #expect(journal.take() == ["first"])
        #expect(executor.jobCount == 0)
    }

    @Test func `posting idle notifications stops for an urgent one`() {
        let urgent = center.observe(first) { [queue, third] _ in queue.enqueue(third) }
        queue.enqueue(first, .whenIdle)
        queue.enqueue(second, .whenIdle)
        executor.endTurn()
        #expect(journal.take() == ["first"])
        executor.endTurn()
        #expect(journal.take() == ["third"])
        executor.endTurn()
        #expect(journal.take() == ["second"])
        urgent.cancel()
    }

    @Test func `pending notifications are posted after the queue is released`() {
        var queue: PostQueue? = PostQueue(center: center, executor: executor.execute)
        weak let watched = queue
        queue?.enqueue(first)
        queue = nil
        #expect(watched != nil)
        executor.endTurn()
        #expect(journal.take() == ["first"])
        #expect(watched == nil)
    }

    @Test func `the queue does not retain observers`() {
        final class Owner: Sendable {}
        var owner: Owner? = Owner()
        weak let watched = owner
        if let owner { center.observe(first, owner: owner) { [journal] _, _ in journal.note("owned") } }
        queue.enqueue(first)
        owner = nil
        #expect(watched == nil)
        executor.endTurn()
        #expect(journal.take() == ["first"])
    }

    @Test func `posted notifications are released`() {
        final class Payload: Sendable {}
        var payload: Payload? = Payload()
        weak let watched = payload
        queue.enqueue(first, payload: payload)
        payload = nil
        #expect(watched != nil)
        executor.endTurn()
        #expect(watched == nil)
    }

    // MARK: Coalescing

    @Test func `of notifications with an equal name and object, the first may be kept`() {
        #expect(queue.enqueue(first, object: "a", payload: 1) == .queued)
        #expect(queue.enqueue(second, object: "a", payload: 2) == .queued)
        #expect(queue.enqueue(first, object: "a", payload: 3, coalescing: all, keeping: .first) == .coalesced)
        #expect(queue.enqueue(first, object: "b", payload: 4) == .queued)
        #expect(queue.enqueue(first, payload: 5) == .queued)
        #expect(queue.enqueue(first, payload: 6, coalescing: all, keeping: .first) == .coalesced)
        executor.endTurn()
        #expect(journal.take() == ["first of a 1", "second of a 2", "first of b 4", "first 5"])
    }

    @Test func `coalescing puts the newest payload at the position of the first`() {
        queue.enqueue(first, payload: 1)
        queue.enqueue(second, payload: 2)
        #expect(queue.enqueue(first, payload: 3, coalescing: all) == .coalesced)
        executor.endTurn()
        #expect(journal.take() == ["first 3", "second 2"])
    }

    @Test(arguments: [PostQueue.PostingStyle.soon, .whenIdle])
    func `notifications are coalesced by name`(style: PostQueue.PostingStyle) {
        queue.enqueue(first, object: "a", style)
        #expect(queue.enqueue(first, object: "b", style, coalescing: .name, keeping: .first) == .coalesced)
        #expect(queue.enqueue(second, object: "a", style, coalescing: .name) == .queued)
        executor.endTurn()
        #expect(journal.take() == ["first of a", "second of a"])
    }

    @Test(arguments: [PostQueue.PostingStyle.soon, .whenIdle])
    func `notifications are coalesced by object`(style: PostQueue.PostingStyle) {
        queue.enqueue(first, object: "a", style)
        #expect(queue.enqueue(second, object: "a", style, coalescing: .object, keeping: .first) == .coalesced)
        #expect(queue.enqueue(second, style, coalescing: .object) == .queued)
        #expect(queue.enqueue(third, style, coalescing: .object, keeping: .first) == .coalesced)
        executor.endTurn()
        #expect(journal.take() == ["first of a", "second"])
    }

    @Test func `notifications are not coalesced by default`() {
        for payload in 1...3 { #expect(queue.enqueue(first, payload: payload) == .queued) }
        executor.endTurn()
        #expect(journal.take() == ["first 1", "first 2", "first 3"])
    }

    @Test func `coalescing removes all equal notifications but the first`() {
        queue.enqueue(first, payload: 1)
        queue.enqueue(second)
        queue.enqueue(first, payload: 2)
        queue.enqueue(first, payload: 3, .whenIdle)
        #expect(queue.enqueue(first, payload: 4, coalescing: all, keeping: .first) == .coalesced)
        #expect(queue.count == 2)
        executor.endTurn()
        #expect(journal.take() == ["first 1", "second"])
        for payload in 1...3 { queue.enqueue(first, payload: payload, .whenIdle) }
        #expect(queue.enqueue(first, payload: 4, .whenIdle, coalescing: all, keeping: .first) == .coalesced)
        #expect(queue.count == 1)
        executor.endTurn()
        #expect(journal.take() == ["first 1"])
    }

    @Test func `instances are equal by identity`() {
        final class Window: Sendable {}
        let windows = (Window(), Window())
        queue.enqueue(first, object: NotificationObject(instance: windows.0), payload: 1)
        queue.enqueue(first, object: NotificationObject(instance: windows.1), payload: 2)
        #expect(
            queue.enqueue(
                first, object: NotificationObject(instance: windows.0), payload: 3, coalescing: all, keeping: .first)
                == .coalesced)
        #expect(queue.count == 2)
        executor.endTurn()
        #expect(queue.count == 0)
    }

    @Test func `an idle notification coalesced with an urgent one becomes urgent`() {
        queue.enqueue(first, payload: 1, .whenIdle)
        queue.enqueue(second, .soon)
        #expect(queue.enqueue(first, payload: 2, .soon, coalescing: all, keeping: .first) == .coalesced)
        executor.endTurn()
        #expect(journal.take() == ["second", "first 1"])
        #expect(executor.jobCount == 0)
    }

    @Test func `an urgent notification coalesced with an idle one stays urgent`() {
        queue.enqueue(first, .soon)
        #expect(queue.enqueue(first, .whenIdle, coalescing: all, keeping: .first) == .coalesced)
        executor.endTurn()
        #expect(journal.take() == ["first"])
        #expect(queue.count == 0)
    }

    @Test func `an observer may replace a notification pending in the same turn`() {
        let coalescing = center.observe(first) { [queue, second] _ in
            #expect(queue.enqueue(second, payload: 2, coalescing: all) == .coalesced)
        }
        queue.enqueue(first)
        queue.enqueue(second, payload: 1)
        executor.endTurn()
        #expect(journal.take() == ["first", "second 2"])
        #expect(executor.jobCount == 0)
        coalescing.cancel()
    }

    // MARK: Now

    @Test func `the now style posts immediately and drops coalesced notifications`() {
        queue.enqueue(first, payload: 1)
        queue.enqueue(second)
        queue.enqueue(first, object: "a")
        #expect(queue.enqueue(first, payload: 2, .now, coalescing: all) == .posted)
        #expect(journal.take() == ["first 2"])
        executor.endTurn()
        #expect(journal.take() == ["second", "first of a"])
    }

    @Test func `the now style drops nothing by default`() {
        queue.enqueue(first, payload: 1)
        queue.enqueue(first, payload: 2, .now)
        executor.endTurn()
        #expect(journal.take() == ["first 2", "first 1"])
    }

    // MARK: Dropping

    @Test func `dequeued notifications are not posted`() {
        queue.enqueue(first, object: "a")
        queue.enqueue(first, object: "b")
        queue.enqueue(second, object: "a")
        queue.enqueue(third, object: "a", .whenIdle)
        #expect(queue.dequeue(matching: note(first)) == 0)
        #expect(queue.dequeue(matching: note(first)) == 0)
        #expect(queue.dequeue(matching: note(first, object: "a")) == 1)
        #expect(queue.dequeue(matching: note(first, object: "a"), coalescing: .object) == 2)
        #expect(queue.count == 1)
        executor.endTurn()
        #expect(journal.take() == ["first of b"])
    }

    @Test func `an observer may dequeue a notification pending in the same turn`() {
        let dropping = center.observe(first) { [queue, second] _ in
            #expect(queue.dequeue(matching: LocalNotification(name: second)) == 1)
        }
        queue.enqueue(first)
        queue.enqueue(second)
        queue.enqueue(third)
        executor.endTurn()
        #expect(journal.take() == ["first", "third"])
        dropping.cancel()
    }

    @Test func `a turn with no notifications left posts nothing`() {
        queue.enqueue(first)
        queue.dequeue(matching: note(first))
        executor.endTurn()
        #expect(journal.take() == [])
        #expect(executor.jobCount == 0)
        queue.enqueue(second)
        executor.endTurn()
        #expect(journal.take() == ["second"])
    }

    @Test func `payloads may use the queue while they are released`() {
        final class Payload: Sendable {
            let goodbye: @Sendable () -> Void
            init(_ goodbye: @escaping @Sendable () -> Void) { self.goodbye = goodbye }
            deinit { goodbye() }
        }
        for (name, index) in [(first, 1), (second, 2), (third, 3)] {
            queue.enqueue(name, payload: Payload { [queue] in queue.enqueue(name, object: "gone", payload: index) })
        }
        queue.enqueue(first, payload: 1, coalescing: all)
        queue.enqueue(second, .now, coalescing: all)
        queue.dequeue(matching: note(third))
        #expect(journal.take() == ["second"])
        executor.endTurn()
        #expect(journal.take() == ["first 1", "first of gone 1", "second of gone 2", "third of gone 3"])
    }

    // MARK: Limits

    @Test func `notifications beyond the limit are refused and counted`() {
        let queue = PostQueue(center: center, limit: 3, executor: executor.execute)
        #expect(queue.enqueue(first) == .queued)
        #expect(queue.enqueue(second, .whenIdle) == .queued)
        #expect(queue.enqueue(third, payload: 1) == .queued)
        #expect(queue.enqueue(first, object: "more") == .refused)
        #expect(queue.enqueue(first, object: "more", .whenIdle) == .refused)
        #expect(queue.enqueue(third, payload: 2, coalescing: all, keeping: .first) == .coalesced)
        #expect(queue.enqueue(first, object: "now", .now) == .posted)
        #expect(queue.count == 3)
        #expect(queue.refusedCount == 2)
        #expect(journal.take() == ["first of now"])
        executor.endTurn()
        executor.endTurn()
        #expect(journal.take() == ["first", "third 1", "second"])
        #expect(queue.enqueue(first, object: "more") == .queued)
        executor.endTurn()
        #expect(journal.take() == ["first of more"])
    }

    // MARK: Centers, executors

    @Test func `queues that share a center are independent`() {
        let other = PostQueue(center: center, executor: executor.execute)
        queue.enqueue(first)
        #expect(other.enqueue(first) == .queued)
        executor.endTurn()
        #expect(journal.take() == ["first", "first"])
    }

    @Test func `interceptors see enqueued notifications`() {
        let interception = center.intercept { [journal] notification, next in
            journal.note("intercepted")
            next(notification)
        }
        queue.enqueue(first)
        executor.endTurn()
        #expect(journal.take() == ["intercepted", "first"])
        interception.cancel()
    }

    @Test @MainActor func `notifications are posted at the end of the main actor's turn`() async {
        let queue = PostQueue(center: center, actor: MainActor.shared)
        await withCheckedContinuation { continuation in
            let last = center.observe(second, options: .once) { [journal] _ in
                MainActor.assertIsolated()
                journal.note("on the main actor")
                continuation.resume()
            }
            queue.enqueue(first)
            queue.enqueue(first, coalescing: all)
            queue.enqueue(second)
            #expect(journal.take() == [])
            kept.value = last
        }
        #expect(journal.take() == ["first", "second", "on the main actor"])
    }

    private let kept = LateValue<ObservationToken>()

    /// The queue enqueues its job on the main actor directly. With a hop over another thread, the task could run before
    /// the posts.
    @Test @MainActor func `main-actor jobs enqueued later run after the posts`() async {
        let queue = PostQueue(center: center, actor: MainActor.shared)
        queue.enqueue(first)
        await Task { journal.note("afterwards") }.value
        #expect(journal.take() == ["first", "afterwards"])
    }

    @Test func `concurrent enqueuing drops nothing`() async {
        let queue = PostQueue(center: center, limit: 100_000, executor: { job in Task.detached { job() } })
        let (calls, finished) = AsyncStream.makeStream(of: Int.self)
        let counting = center.observe(.every) { finished.yield($0.payload as? Int ?? -1) }
        token.cancel()
        await withTaskGroup(of: Void.self) { group in
            for worker in 0..<4 {
                group.addTask { [first] in
                    for index in 0..<1_000 {
                        queue.enqueue(first, payload: worker * 1_000 + index)
                    }
                }
            }
        }
        var last = [-1, -1, -1, -1]
        var count = 0
        for await payload in calls {
            #expect(payload % 1_000 > last[payload / 1_000], "each thread's posts keep their order")
            last[payload / 1_000] = payload % 1_000
            count += 1
            if count == 4_000 { break }
        }
        counting.cancel()
        #expect(queue.count == 0)
    }
}
