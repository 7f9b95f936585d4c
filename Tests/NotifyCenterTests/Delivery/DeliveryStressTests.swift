import Dispatch
import Testing

@testable import NotifyCenter

/// All kinds of delivery, concurrently. This suite is also run under the thread sanitizer.
@Suite(.timeLimit(.minutes(25))) struct DeliveryStressTests {
    private final class Owner: Sendable {}

    private actor Counter {
        private(set) var count = 0
        func increment() { count += 1 }
    }

    /// For each observer, the numbers of delivered and dropped notifications must add up to the number of posts.
    @Test(arguments: 0..<5) func `every posted message is delivered or counted as dropped`(round: Int) async {
        let center = LocalCenter()
        let name = NotificationName(literal: "stress")
        let queue = DispatchQueue(label: "stress", attributes: .concurrent)
        let posts = 4 * 1_000
        let executors: [ObserverExecutor] = [.serially, .concurrently(atMost: 3), .queue { queue.async(execute: $0) }]
        let bufferings: [Buffering] = [.dropOldest(limit: 7), .dropNewest(limit: 7), .wait(limit: 7)]
        var observers: [(token: ObservationToken, calls: Collector<Void>)] = []
        for executor in executors {
            for buffering in bufferings {
                let calls = Collector<Void>()
                observers.append(
                    (center.observe(name, on: executor, buffering: buffering) { _ in calls.add(()) }, calls))
            }
        }
        let counter = Counter()
        let onActor = center.observe(name, on: counter) { counter, _ in counter.increment() }
        await withTaskGroup(of: Void.self) { group in
            for poster in 0..<4 {
                group.addTask {
                    for number in 0..<1_000 {
                        if (number + poster) % 5 == 0 {
                            await center.postWaiting(name, payload: number)
                        } else {
                            center.post(name, payload: number)
                        }
                    }
                }
                group.addTask { await self.comeAndGo(center, name) }
            }
        }
        for (token, calls) in observers {
            #expect(await eventually { calls.values.count + token.observation.droppedCount == posts })
        }
        #expect(await eventually { onActor.droppedCount <= posts })
        let expected = posts - onActor.droppedCount
        while await counter.count < expected && !Task.isCancelled { await Task.yield() }
        #expect(await counter.count == expected)
        for observer in observers { observer.token.cancel() }
        onActor.cancel()
        #expect(center.observationCount == 0)
    }

    private func comeAndGo(_ center: LocalCenter, _ name: NotificationName) async {
        for index in 0..<100 {
            switch index % 4 {
            case 0:
                let token = center.observe(name) { _ in await Task.yield() }
                center.post(NotificationName(literal: "other"))
                token.cancel()
            case 1:
                let owner = Owner()
                center.observe(name, owner: owner, on: .concurrently) { _, _ in }
            case 2:
                let reader = Task {
                    for await _ in center.notifications(for: name, buffering: .wait(limit: 1)) { break }
                }
                await Task.yield()
                reader.cancel()
                await reader.value
            default:
                let counter = Counter()
                center.observe(name, options: .once, on: counter) { counter, _ in counter.increment() }
                await Task.yield()
            }
        }
    }
}
