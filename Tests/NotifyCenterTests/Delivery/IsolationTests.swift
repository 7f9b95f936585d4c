import Synchronization
import Testing

@testable import NotifyCenter

/// Closures and methods that are isolated to a global actor.
@Suite(.timeLimit(.minutes(25))) struct IsolationTests {
    private let center = LocalCenter()
    private let name: NotificationName = "counted"

    @globalActor actor Counting {
        static let shared = Counting()
    }

    private struct Counted: NotificationMessage {
        static let notificationName: NotificationName = "counted"
    }

    @Counting private final class Counter {
        private(set) var count = 0
        private let expected: Int
        private let isDone = Gate()

        nonisolated init(expecting expected: Int) { self.expected = expected }

        func add(_ message: Counted) {
            Counting.shared.assertIsolated()
            count += 1
            if count == expected { isDone.open() }
        }

        func all() async -> Int {
            await isDone.pass()
            return count
        }
    }

    private func postFromFourThreads(_ posts: Int) async {
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask { [center] in
                    for _ in 0..<posts { center.post(Counted()) }
                }
            }
        }
    }

    @Test func `a method of a global actor runs on that actor for every post`() async {
        let counter = Counter(expecting: 4 * 5_000)
        center.observe(Counted.self, owner: counter, buffering: .dropNewest(limit: 4 * 5_000)) { await $0.add($1) }
        await postFromFourThreads(5_000)
        #expect(await counter.all() == 4 * 5_000)
    }

    @Test func `a closure of a global actor runs on that actor for every post`() async {
        let counter = Counter(expecting: 4 * 5_000)
        let buffering = Buffering.dropNewest(limit: 4 * 5_000)
        center.observe(Counted.self, owner: counter, on: .serially, buffering: buffering) { @Counting in $0.add($1) }
        await postFromFourThreads(5_000)
        #expect(await counter.all() == 4 * 5_000)
    }

    // MARK: After the end

    @Test @MainActor func `a main-actor call that has not begun when the observation ends does not run`() async throws {
        let executor = ManualExecutor()
        let calls = Atomic(0)
        let call: @MainActor @Sendable () -> Void = { calls.wrappingAdd(1, ordering: .relaxed) }
        let queue = ObserverExecutor.queue(executor.execute)
        let owner = Thing()
        let observations = [
            center.observe(name, on: queue) { @MainActor _ in call() }.observation,
            center.observe(Counted.self, on: queue) { @MainActor _ in call() }.observation,
            center.observe(name, owner: owner, on: queue) { @MainActor _, _ in call() },
            center.observe(Counted.self, owner: owner, on: queue) { @MainActor _, _ in call() },
        ]
        _ = observations
        center.post(Counted())
        // After this turn, the calls wait for the main actor, because the main actor is running this test.
        executor.endTurn()
        center.removeAllObservations()
        for _ in 0..<100 {
            executor.endTurn()
            await Task.yield()
        }
        #expect(calls.load(ordering: .relaxed) == 0)
    }

    @Test func `a queued call that has not begun when the observation ends does not run`() {
        let executor = ManualExecutor()
        let calls = Atomic(0)
        let token = center.observe(name, on: .queue(executor.execute)) { _ in
            calls.wrappingAdd(1, ordering: .relaxed)
        }
        center.post(name)
        token.cancel()
        executor.endTurn()
        executor.endTurn()
        #expect(calls.load(ordering: .relaxed) == 0)
    }
}
