import Dispatch
import Synchronization
import TestSupport
import Testing

@_spi(Package) @testable import NotifyCenter

@Suite(.timeLimit(.minutes(25))) struct AsyncObserverTests {
    private let center = LocalCenter()
    private let name = NotificationName(literal: "orders.created")
    private let journal = Collector<Int>()

    private final class Owner: Sendable {}

    private struct Paid: NotificationMessage {
        static let notificationName = NotificationName(literal: "orders.created")
        let order: Int
    }

    private struct Failure: Error {}

    private func post(_ numbers: Range<Int>) {
        for number in numbers { center.post(name, payload: number) }
    }

    // MARK: Synchronous and asynchronous closures

    @Test func `a closure that does not suspend runs on the poster's thread`() {
        let token = center.observe(name) { [journal] in journal.add($0.payload as? Int ?? -1) }
        let long = center.observe(name) { [journal] notification in
            let number = notification.payload as? Int ?? -1
            journal.add(number + 10)
        }
        let empty = center.observe(name) { _ in }
        let typed = center.observe(Paid.self) { [journal] in journal.add($0.order) }
        post(0..<1)
        center.post(Paid(order: 7))
        #expect(journal.values == [0, 10, -1, 9, 7])
        for token in [token, long, empty, typed] { token.cancel() }
    }

    @Test func `a closure that suspends runs asynchronously`() async {
        let gate = Gate()
        let token = center.observe(name) { [journal] in
            await gate.pass()
            journal.add($0.payload as? Int ?? -1)
        }
        post(0..<3)
        #expect(journal.values == [])
        gate.open()
        #expect(await journal.values(3) == [0, 1, 2])
        token.cancel()
    }

    @Sendable private static func plain(_ notification: LocalNotification) {}
    @Sendable private static func suspending(_ notification: LocalNotification) async throws { await Task.yield() }

    @Test func `synchronous and asynchronous functions are distinguished`() throws {
        let plain = center.observe(name, using: Self.plain)
        let suspending = center.observe(name, using: Self.suspending)
        let pattern = try center.observe("orders.*") { _ in await Task.yield() }
        let typed = center.observe(Paid.self) { _ in
            await Task.yield()
            try Task.checkCancellation()
        }
        let owner = Owner()
        center.observe(name, owner: owner) { _, _ in await Task.yield() }
        center.observe(Paid.self, owner: owner) { _, _ in await Task.yield() }
        try center.observe("orders.*", owner: owner) { _, _ in await Task.yield() }
        let queues = center.state.withLock { state in
            state.observers.values.sorted { $0.registration < $1.registration }.map { $0.queue != nil }
        }
        #expect(queues == [false, true, true, true, true, true, true])
        for token in [plain, suspending, pattern, typed] { token.cancel() }
    }

    // MARK: Order

    @Test(arguments: 0..<20) func `each poster's order is kept under load`(round: Int) async {
        let queue = DispatchQueue(label: "order", attributes: .concurrent)
        let executors: [ObserverExecutor] = [.serially, .queue { queue.async(execute: $0) }]
        let posts = 500
        let collectors = executors.map { _ in Collector<(poster: Int, number: Int)>() }
        let tokens = zip(executors, collectors).map { executor, collector in
            center.observe(
                name, on: executor, buffering: .dropNewest(limit: 4 * posts),
                using: Busy { if let pair = $0.payload as? (Int, Int) { collector.add(pair) } }.call)
        }
        await withTaskGroup(of: Void.self) { group in
            for poster in 0..<4 {
                group.addTask { [center, name] in
                    for number in 0..<posts { center.post(name, payload: (poster, number)) }
                }
            }
        }
        for collector in collectors {
            let values = await collector.values(4 * posts)
            for poster in 0..<4 {
                #expect(values.filter { $0.poster == poster }.map(\.number) == Array(0..<posts))
            }
        }
        #expect(tokens.map(\.observation.droppedCount) == [0, 0])
    }

    @Test func `calls of one observer do not overlap`() async {
        let inside = Atomic(0)
        let token = center.observe(name, on: .serially) { [journal] _ in
            let count = inside.wrappingAdd(1, ordering: .acquiringAndReleasing).newValue
            #expect(count == 1)
            await Task.yield()
            inside.wrappingSubtract(1, ordering: .acquiringAndReleasing)
            journal.add(0)
        }
        post(0..<200)
        _ = await journal.values(200)
        token.cancel()
    }

    @Test func `calls of a concurrent observer overlap up to its limit`() async {
        let gate = Gate()
        let begun = Collector<Int>()
        let token = center.observe(name, on: .concurrently(atMost: 3)) { [journal] in
            begun.add($0.payload as? Int ?? -1)
            await gate.pass()
            journal.add($0.payload as? Int ?? -1)
        }
        post(0..<5)
        #expect(Set(await begun.values(3)) == [0, 1, 2])
        gate.open()
        #expect(Set(await journal.values(5)) == Set(0..<5))
        token.cancel()
    }

    @Test func `concurrent calls up to the default limit may wait for each other`() async {
        let begun = Collector<Void>()
        let token = center.observe(name, on: .concurrently) { [journal] in
            begun.add(())
            _ = await begun.values(ObserverExecutor.defaultConcurrency)
            journal.add($0.payload as? Int ?? -1)
        }
        let all = 0..<ObserverExecutor.defaultConcurrency
        post(all)
        #expect(await journal.values(all.count).sorted() == Array(all))
        token.cancel()
    }

    @Test func `the queue runs the observer`() async {
        let queue = DispatchQueue(label: "observer")
        let token = center.observe(name, on: .queue { queue.async(execute: $0) }) { [journal] in
            dispatchPrecondition(condition: .onQueue(queue))
            await Task.yield()
            dispatchPrecondition(condition: .onQueue(queue))
            journal.add($0.payload as? Int ?? -1)
        }
        post(0..<300)
        #expect(await journal.values(300) == Array(0..<300))
        token.cancel()
    }

    @Test func `no call runs before the queue runs it`() async {
        let work = Lock<[@Sendable () -> Void]>([])
        let token = center.observe(name, on: .queue { job in work.withLock { $0.append(job) } }) { [journal] in
            journal.add($0.payload as? Int ?? -1)
        }
        post(0..<3)
        #expect(journal.values == [])
        #expect(work.withLock(\.count) == 1)
        while let job = work.withLock({ $0.popLast() }) { job() }
        #expect(journal.values == [0, 1, 2])
        post(3..<4)
        while let job = work.withLock({ $0.popLast() }) { job() }
        #expect(journal.values == [0, 1, 2, 3])
        token.cancel()
    }

    // MARK: Loss

    @Test(arguments: [9, 10, 11, 30])
    func `messages beyond the buffer are dropped and counted`(count: Int) async {
        for (buffering, expected) in [
            (Buffering.dropOldest(limit: 10), Array(0..<1) + Array(1..<count + 1).suffix(10)),
            (.dropNewest(limit: 10), Array(0..<1) + Array(1..<count + 1).prefix(10)),
            (.wait(limit: 10), Array(0..<1) + Array(1..<count + 1).prefix(10)),
        ] {
            let (begun, gate, journal) = (Gate(), Gate(), Collector<Int>())
            let token = center.observe(name, on: .serially, buffering: buffering) {
                begun.open()
                await gate.pass()
                journal.add($0.payload as? Int ?? -1)
            }
            // The observer handles the first notification, while the mailbox buffers the others.
            post(0..<1)
            await begun.pass()
            post(1..<count + 1)
            #expect(token.observation.droppedCount == max(0, count - 10))
            #expect(center.observations.map(\.droppedCount) == [max(0, count - 10)])
            gate.open()
            #expect(await journal.values(expected.count) == expected)
            token.cancel()
        }
    }

    @Test func `messages of another type use no buffer space`() async {
        let (begun, gate) = (Gate(), Gate())
        let token = center.observe(Paid.self, buffering: .dropNewest(limit: 1)) { [journal] in
            begun.open()
            await gate.pass()
            journal.add($0.order)
        }
        center.post(Paid(order: 0))
        await begun.pass()
        center.post(name, payload: "something else")
        center.post(name, payload: Paid(order: 1))
        gate.open()
        #expect(await journal.values(2) == [0, 1])
        #expect(token.observation.droppedCount == 0)
        token.cancel()
    }

    // MARK: Ending, pausing, once

    @Test(arguments: 0..<50)
    func `buffered messages are not delivered after the observation ends`(round: Int) async {
        let (begun, gate) = (Gate(), Gate())
        let token = center.observe(name) { [journal] in
            begun.open()
            await gate.pass()
            journal.add($0.payload as? Int ?? -1)
        }
        post(0..<5)
        await begun.pass()
        token.cancel()
        gate.open()
        let last = center.observe(name) { [journal] _ in
            await Task.yield()
            journal.add(100)
        }
        post(0..<1)
        #expect(Set(await journal.values(2)) == [0, 100])
        last.cancel()
    }

    @Test func `a paused observer gets messages posted before the pause`() async {
        let gate = Gate()
        let token = center.observe(name) { [journal] in
            await gate.pass()
            journal.add($0.payload as? Int ?? -1)
        }
        post(0..<2)
        token.pause()
        post(2..<4)
        gate.open()
        #expect(await journal.values(2) == [0, 1])
        token.resume()
        post(4..<5)
        #expect(await journal.values(3) == [0, 1, 4])
        token.cancel()
    }

    @Test(arguments: [ObserverExecutor.serially, .concurrently])
    func `a once observer is called once`(executor: ObserverExecutor) async {
        for _ in 0..<50 {
            let journal = Collector<Int>()
            let token = center.observe(name, options: .once, on: executor) {
                journal.add($0.payload as? Int ?? -1)
            }
            await withTaskGroup(of: Void.self) { group in
                for number in 0..<4 { group.addTask { [center, name] in center.post(name, payload: number) } }
            }
            _ = await journal.values(1)
            #expect(!token.observation.isActive)
            post(10..<12)
            #expect(center.observationCount == 0)
            #expect(journal.values.count == 1)
        }
    }

    @Test func `a once observation can be cancelled while its call is queued`() {
        let work = Lock<[@Sendable () -> Void]>([])
        let token = center.observe(name, options: .once, on: .queue { job in work.withLock { $0.append(job) } }) {
            [journal] _ in journal.add(0)
        }
        post(0..<1)
        #expect(token.observation.isActive)
        token.cancel()
        while let job = work.withLock({ $0.popLast() }) { job() }
        #expect(journal.values == [])
    }

    @Test func `an observation replaced by its key drops its buffered messages`() {
        let work = Lock<[@Sendable () -> Void]>([])
        let executor = ObserverExecutor.queue { job in work.withLock { $0.append(job) } }
        let tokens = [0, 10].map { increment in
            let token = center.observe(name, options: .key("key"), on: executor) { [journal] in
                journal.add(($0.payload as? Int ?? -1) + increment)
            }
            post(0..<2)
            return token
        }
        while let job = work.withLock({ $0.popLast() }) { job() }
        #expect(journal.values == [10, 11])
        #expect(tokens.map(\.observation.isActive) == [false, true])
    }

    @Test func `values go through the mailbox`() async throws {
        center.setValue(1, for: name, object: "1")
        center.setValue(2, for: name, object: "2")
        let token = try center.observe("orders.*") { [journal] in
            await Task.yield()
            journal.add($0.payload as? Int ?? -1)
        }
        post(3..<4)
        #expect(await journal.values(3) == [1, 2, 3])
        token.cancel()
    }

    @Test func `errors are reported`() async {
        let failures = Collector<String>()
        center.hooks.failed = { failures.add("\($0.notification.payload ?? "") \($0.error) \($0.place.line > 0)") }
        let token = center.observe(name) { notification in
            await Task.yield()
            if notification.payload as? Int != 1 { throw Failure() }
        }
        post(0..<3)
        #expect(await failures.values(2) == ["0 Failure() true", "2 Failure() true"])
        token.cancel()
    }

    // MARK: Lifetimes

    @Test(arguments: 0..<20) func `releasing the owner drops buffered messages`(round: Int) async {
        let (begun, gate) = (Gate(), Gate())
        var owner: Owner? = Owner()
        let watched = Weak(owner)
        if let owner {
            center.observe(name, owner: owner, on: .serially) { [journal] _, notification in
                begun.open()
                await gate.pass()
                journal.add(notification.payload as? Int ?? -1)
            }
        }
        post(0..<5)
        await begun.pass()
        owner = nil
        // The call in progress retains the owner.
        #expect(!watched.isGone)
        gate.open()
        #expect(await eventually { watched.isGone })
        #expect(await eventually { center.state.withLock { $0.core.registrationCount } == 0 })
        #expect(journal.values == [0])
    }

    @Test func `a closure's captures are released with the observation`() async {
        var captured: Owner? = Owner()
        let watched = Weak(captured)
        let token = center.observe(name) { [captured, journal] notification in
            await Task.yield()
            withExtendedLifetime(captured) { journal.add(notification.payload as? Int ?? -1) }
        }
        captured = nil
        post(0..<3)
        _ = await journal.values(3)
        #expect(!watched.isGone)
        token.cancel()
        #expect(await eventually { watched.isGone })
    }

    @Test func `buffered messages are released with the observation`() async {
        let (begun, gate) = (Gate(), Gate())
        var payload: Owner? = Owner()
        let watched = Weak(payload)
        let token = center.observe(name) { _ in
            begun.open()
            await gate.pass()
        }
        center.post(name)
        await begun.pass()
        center.post(name, payload: payload)
        payload = nil
        #expect(!watched.isGone)
        token.cancel()
        #expect(watched.isGone)
        gate.open()
    }

    @Test func `a payload may post while it is released`() async {
        final class Farewell: Sendable {
            let center: LocalCenter
            let name: NotificationName
            init(_ center: LocalCenter, _ name: NotificationName) { (self.center, self.name) = (center, name) }
            deinit { center.post(name) }
        }
        let (begun, gate) = (Gate(), Gate())
        let token = center.observe(name, buffering: .dropOldest(limit: 1)) { _ in
            begun.open()
            await gate.pass()
        }
        center.post(name)
        await begun.pass()
        for _ in 0..<3 { center.post(name, payload: Farewell(center, name)) }
        #expect(token.observation.droppedCount > 0)
        token.cancel()
        gate.open()
    }

    @Test func `a center is released once no messages are buffered`() async {
        var center: LocalCenter? = LocalCenter()
        let watched = Weak(center)
        let owner = Owner()
        let gate = Gate()
        center?.observe(name, owner: owner, on: .serially) { [journal] _, notification in
            await gate.pass()
            journal.add(notification.payload as? Int ?? -1)
        }
        for number in 0..<3 { center?.post(name, payload: number) }
        center = nil
        gate.open()
        #expect(await journal.values(3) == [0, 1, 2])
        #expect(await eventually { watched.isGone })
    }
}

/// An observer that fails the test if its calls overlap.
private final class Busy: Sendable {
    private let isBusy = Atomic(false)
    private let body: @Sendable (LocalNotification) -> Void

    init(_ body: @escaping @Sendable (LocalNotification) -> Void) { self.body = body }

    @Sendable func call(_ notification: LocalNotification) async {
        let wasBusy = isBusy.exchange(true, ordering: .acquiringAndReleasing)
        #expect(!wasBusy)
        body(notification)
        isBusy.store(false, ordering: .releasing)
    }
}
