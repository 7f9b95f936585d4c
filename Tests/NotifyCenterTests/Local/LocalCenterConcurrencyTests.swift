import Synchronization
import Testing

@testable import NotifyCenter

/// What holds when several threads use a center at once. Also meant to be run under the thread sanitizer.
@Suite struct LocalCenterConcurrencyTests {
    @Test func postingAddingAndEndingFromManyTasks() async throws {
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

    private final class Counter: Sendable {
        private let count = Atomic(0)
        func increment() { count.wrappingAdd(1, ordering: .relaxed) }
    }
}
