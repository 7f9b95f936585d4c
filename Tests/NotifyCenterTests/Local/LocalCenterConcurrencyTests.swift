import Dispatch
import Foundation
import Synchronization
import TestSupport
import Testing

@_spi(Package) @testable import NotifyCenter

/// Concurrent use of a center. This suite is also run under the thread sanitizer.
@Suite struct LocalCenterConcurrencyTests {
    @Test func `posting, adding and ending from many tasks is safe`() async throws {
        let center = LocalCenter()
        let calls = Atomic(0)
        let names = try (0..<8).map { try NotificationName("n.\($0)") }
        let steady = names.map { name in
            center.observe(name) { _ in calls.wrappingAdd(1, ordering: .relaxed) }
        }
        let posts = 2_000
        await withTaskGroup(of: Void.self) { group in
            for worker in 0..<4 {
                group.addTask {
                    for index in 0..<posts {
                        center.post(names[(index + worker) % names.count], object: "\(index % 3)")
                    }
                }
                group.addTask {
                    for index in 0..<500 {
                        let token = center.observe(
                            index % 4 == 0 ? NamePattern.everyName : NamePattern(names[index % 8])
                        ) { _ in }
                        center.post(names[worker])
                        token.cancel()
                    }
                }
                group.addTask {
                    for index in 0..<500 {
                        let owner = Counter()
                        center.observe(names[index % 8], object: "1", owner: owner) { owner, _ in owner.increment() }
                    }
                }
            }
        }
        #expect(calls.load(ordering: .relaxed) == 4 * posts + 4 * 500)
        #expect(center.observationCount == steady.count)
        for token in steady { token.cancel() }
        #expect(center.observationCount == 0)
    }

    /// Posts of names in the post cache do not wait for threads that change the center.
    @Test func `names in the post cache are posted without the center's lock`() {
        let center = LocalCenter()
        let calls = Atomic(0)
        let nobody = NotificationName(literal: "nobody")
        let tokens = [
            center.observe(OrderPaid.self) { _ in calls.wrappingAdd(1, ordering: .relaxed) },
            center.observe(OrderPaid.notificationName) { _ in calls.wrappingAdd(1, ordering: .relaxed) },
        ]
        let post = { @Sendable in
            center.post(OrderPaid(amount: 1))
            center.post(OrderPaid.notificationName, object: "17")
            center.post(LocalNotification(name: OrderPaid.notificationName))
            center.post(nobody)
        }
        // A name that reaches no observer is cached after a few posts.
        for _ in 0..<16 { center.post(nobody) }
        post()
        let posted = DispatchSemaphore(value: 0)
        let result = center.state.withLock { _ in
            Thread.detachNewThread {
                post()
                posted.signal()
            }
            return posted.wait(timeout: .now() + 300)
        }
        #expect(result == .success)
        #expect(calls.load(ordering: .relaxed) == 8)
        withExtendedLifetime(tokens) {}
    }

    /// Runs all operations that affect posts concurrently on the same names.
    @Test func `all operations can run concurrently`() async {
        let center = LocalCenter()
        center.hooks.repeated = { _ in }
        center.hooks.failed = { _ in }
        let names = (0..<4).map { NotificationName(unchecked: "n.\($0)") }
        let calls = Atomic(0)
        let priorities: [ObservationOptions] = [.priority(1), .priority(-1), .priority(0)]
        let steady = priorities.map { options in
            center.observe(.every, options: [options, .withoutValues]) { _ in
                calls.wrappingAdd(1, ordering: .relaxed)
            }
        }
        let shared = Counter()
        let (rounds, posters) = (500, 2)
        await onThreads(posters + 6) { thread in
            for round in 0..<rounds {
                let name = names[(round + thread) % names.count]
                switch thread {
                case 0..<posters:
                    if round % 2 == 0 {
                        center.post(name, object: "\(round % 3)")
                    } else {
                        center.setValue(nil, for: name)
                    }
                case posters:
                    let token = center.observe(NamePattern(literal: "n.*"), options: .once) { _ in }
                    token.pause()
                    token.resume()
                case posters + 1:
                    center.observe(name, owner: shared, options: .key("\(round % 2)")) { owner, _ in owner.increment() }
                case posters + 2:
                    let owner = Counter()
                    center.observe(name, object: NotificationObject(instance: owner), owner: owner) { _, _ in }
                    center.observe(OrderPaid.self, owner: owner) { _, _ in }
                    if round % 2 == 0 { center.removeObservations(of: owner) }
                case posters + 3:
                    let interception = center.intercept { notification, next in next(notification) }
                    if round % 2 == 0 { interception.cancel() }
                case posters + 4:
                    if round % 8 == 0 { center.clear(matching: .every) } else { center.clear(name) }
                    _ = center.value(of: name)
                default:
                    if round % 2 == 0 { center.hooks.unobserved = nil } else { center.hooks.unobserved = { _ in } }
                    _ = center.observations
                }
            }
        }
        // Each post reaches the permanent observers exactly once, whatever the other threads do.
        #expect(calls.load(ordering: .relaxed) == steady.count * posters * rounds)
        #expect(center.observationCount == steady.count + 2)
        center.removeObservations(of: shared)
        center.clear(matching: .every)
        for token in steady { token.cancel() }
        #expect(center.observationCount == 0)
        #expect(center.state.withLock { $0.core.footprint } == 0)
        #expect(center.state.withLock { $0.keys.count } == 0)
    }

    private final class Counter: Sendable {
        private let count = Atomic(0)
        func increment() { count.wrappingAdd(1, ordering: .relaxed) }
    }
}
