import TestSupport
import Testing

@testable import NotifyCenter

@Suite(.timeLimit(.minutes(25))) struct PostWaitingTests {
    private static let name = NotificationName(literal: "orders.created")
    private let center = LocalCenter()
    private let name = Self.name
    private let other = NotificationName(literal: "orders.paid")
    private let journal = Collector<Int>()

    private struct Paid: NotificationMessage {
        static let notificationName = PostWaitingTests.name
        let order: Int
    }

    private func number(_ notification: LocalNotification?) -> Int { notification?.payload as? Int ?? -1 }

    @Test(arguments: [1, 2, 7]) func `no message is dropped and order is kept`(limit: Int) async {
        let token = center.observe(name, buffering: .wait(limit: limit)) { [journal] in
            await Task.yield()
            journal.add($0.payload as? Int ?? -1)
        }
        let sequence = center.notifications(for: name, buffering: .wait(limit: limit))
        async let read = {
            var numbers: [Int] = []
            for await notification in sequence {
                numbers.append(notification.payload as? Int ?? -1)
                if numbers.count == 500 { break }
            }
            return numbers
        }()
        for number in 0..<500 { await center.postWaiting(name, payload: number) }
        #expect(await journal.values(500) == Array(0..<500))
        #expect(await read == Array(0..<500))
        #expect(token.observation.droppedCount == 0)
        #expect(sequence.droppedCount == 0)
        token.cancel()
    }

    @Test(arguments: 0..<10) func `no message is dropped when several tasks post`(round: Int) async {
        let token = center.observe(name, buffering: .wait(limit: 3)) { [journal] in
            await Task.yield()
            journal.add($0.payload as? Int ?? -1)
        }
        await withTaskGroup(of: Void.self) { group in
            for poster in 0..<4 {
                group.addTask { [center, name] in
                    for number in 0..<100 { await center.postWaiting(name, payload: poster * 100 + number) }
                }
            }
        }
        let all = await journal.values(400)
        for poster in 0..<4 {
            let range = poster * 100..<(poster + 1) * 100
            #expect(all.filter(range.contains) == Array(range))
        }
        #expect(token.observation.droppedCount == 0)
        token.cancel()
    }

    @Test func `a post that waits for one observer does not delay the others`() async {
        let first = center.observe(name, options: .priority(2)) { [journal] in
            journal.add($0.payload as? Int ?? -1)
        }
        let sequence = center.notifications(for: name, options: .priority(1), buffering: .wait(limit: 1))
        let last = center.observe(name) { [journal] in journal.add(($0.payload as? Int ?? -1) + 100) }
        await center.postWaiting(name, payload: 0)
        let done = Collector<Void>()
        let posting = Task {
            await center.postWaiting(name, payload: 1)
            done.add(())
        }
        // The other observers have been called, and the post waits for space in the sequence's buffer.
        #expect(await journal.values(4) == [0, 100, 1, 101])
        #expect(done.values.isEmpty)
        #expect(sequence.droppedCount == 0)
        var iterator = sequence.makeAsyncIterator()
        #expect(number(await iterator.next()) == 0)
        await posting.value
        #expect(number(await iterator.next()) == 1)
        first.cancel()
        last.cancel()
    }

    @Test func `a post that does not wait does not overtake waiting posts`() async {
        let sequence = center.notifications(for: name, buffering: .wait(limit: 1))
        await center.postWaiting(name, payload: 0)
        let signal = center.observe(name) { [journal] in journal.add($0.payload as? Int ?? -1) }
        let posting = Task { await center.postWaiting(name, payload: 1) }
        _ = await journal.values(1)
        center.post(name, payload: 2)
        #expect(sequence.droppedCount == 1)
        var iterator = sequence.makeAsyncIterator()
        #expect(number(await iterator.next()) == 0)
        #expect(number(await iterator.next()) == 1)
        await posting.value
        signal.cancel()
    }

    @Test func `every overload delivers its message`() async throws {
        let sequence = center.notifications(for: name)
        let messages = center.messages(of: Paid.self, buffering: .wait(limit: 1))
        await center.postWaiting(name, payload: 0)
        try await center.postWaiting("orders.created", payload: 1)
        await center.postWaiting(LocalNotification(name: name, payload: 2))
        await center.postWaiting(Paid(order: 3))
        await #expect(throws: NameError.self) { try await center.postWaiting("orders..created") }
        var iterator = sequence.makeAsyncIterator()
        for expected in 0..<3 { #expect(number(await iterator.next()) == expected) }
        #expect((await iterator.next()?.payload as? Paid)?.order == 3)
        var paid = messages.makeAsyncIterator()
        #expect(await paid.next()?.order == 3)
    }

    @Test func `interceptors, hooks and values apply to waiting posts`() async {
        let unobserved = Collector<Int>()
        center.hooks.unobserved = { unobserved.add($0.payload as? Int ?? -1) }
        let interception = center.intercept { notification, next in
            if notification.payload as? Int == 0 { return }
            next(LocalNotification(name: notification.name, payload: (notification.payload as? Int ?? 0) + 1))
        }
        await center.postWaiting(name, payload: 0)
        await center.postWaiting(name, payload: 1)
        #expect(unobserved.values == [2])
        await center.postWaiting(name, payload: 2, asValues: 1)
        #expect(number(center.value(of: name)) == 3)
        let sequence = center.notifications(for: name, buffering: .wait(limit: 1))
        let posting = Task { await center.postWaiting(name, payload: 9) }
        var iterator = sequence.makeAsyncIterator()
        #expect(number(await iterator.next()) == 3)
        #expect(number(await iterator.next()) == 10)
        await posting.value
        #expect(unobserved.values == [2, 3])
        interception.cancel()
    }

    // MARK: Cancellation and the end of an observation

    @Test(arguments: 0..<100) func `a cancelled post stops waiting`(round: Int) async {
        let sequence = center.notifications(for: name, buffering: .wait(limit: 1))
        center.post(name, payload: 0)
        let posting = Task { await center.postWaiting(name, payload: 1) }
        for _ in 0..<round % 5 { await Task.yield() }
        posting.cancel()
        await posting.value
        #expect(sequence.droppedCount == 1)
        var iterator = sequence.makeAsyncIterator()
        #expect(number(await iterator.next()) == 0)
        center.post(name, payload: 2)
        #expect(number(await iterator.next()) == 2)
    }

    @Test(arguments: 0..<100) func `a post stops waiting when the observation ends`(round: Int) async {
        let sequence = center.notifications(for: name, buffering: .wait(limit: 1))
        let gate = Gate()
        let token = center.observe(name, buffering: .wait(limit: 1)) { _ in await gate.pass() }
        for number in 0..<2 { center.post(name, payload: number) }
        let posting = Task { await center.postWaiting(name, payload: 1) }
        for _ in 0..<round % 5 { await Task.yield() }
        sequence.cancel()
        token.cancel()
        await posting.value
        gate.open()
    }

    @Test(arguments: 0..<50)
    func `a post cancelled while its observer reads is either buffered or dropped`(round: Int) async {
        let sequence = center.notifications(for: name, buffering: .wait(limit: 1))
        center.post(name, payload: 0)
        let posting = Task { await center.postWaiting(name, payload: 1) }
        for _ in 0..<round % 4 { await Task.yield() }
        let reading = Task {
            var iterator = sequence.makeAsyncIterator()
            return await iterator.next()
        }
        posting.cancel()
        #expect(number(await reading.value) == 0)
        await posting.value
        // The waiting notification was either buffered or dropped.
        center.post(name, payload: 2)
        var iterator = sequence.makeAsyncIterator()
        let next = number(await iterator.next())
        #expect(next == 1 && sequence.droppedCount == 1 || next == 2 && sequence.droppedCount == 1)
    }

    // MARK: Observers that post

    @Test func `an observer that posts to itself does not wait for itself`() async {
        let token = center.observe(name, buffering: .wait(limit: 1)) { [center, name, journal] notification in
            let number = notification.payload as? Int ?? -1
            journal.add(number)
            if number == 0 {
                for next in 1..<4 { await center.postWaiting(name, payload: next) }
                journal.add(100)
            }
        }
        await center.postWaiting(name, payload: 0)
        #expect(await journal.values(3) == [0, 100, 1])
        #expect(token.observation.droppedCount == 2)
        token.cancel()
    }

    @Test func `observers that post to each other do not wait for each other`() async {
        let begun = Collector<Void>()
        let tokens = [(name, other), (other, name)].map { from, to in
            center.observe(from, buffering: .wait(limit: 1)) { [center, journal] _ in
                begun.add(())
                _ = await begun.values(2)
                for number in 0..<50 { await center.postWaiting(to, payload: number) }
                journal.add(0)
            }
        }
        center.post(name)
        center.post(other)
        // Each observer fills the buffer of the other repeatedly. Every call must return.
        _ = await journal.values(10)
        #expect(tokens.reduce(0) { $0 + $1.observation.droppedCount } > 0)
        for token in tokens { token.cancel() }
        #expect(await eventually { WaitGraph.shared.isEmpty })
    }

    @Test func `an observer waits for other observers`() async {
        let first = center.observe(name, buffering: .wait(limit: 1)) { [center, other] in
            await center.postWaiting(other, payload: $0.payload)
        }
        let second = center.observe(other, buffering: .wait(limit: 1)) { [journal] in
            await Task.yield()
            journal.add($0.payload as? Int ?? -1)
        }
        for number in 0..<200 { await center.postWaiting(name, payload: number) }
        #expect(await journal.values(200) == Array(0..<200))
        #expect([first, second].map(\.observation.droppedCount) == [0, 0])
        first.cancel()
        second.cancel()
    }

    @Test func `a reader that posts to its own sequence does not wait`() async {
        let sequence = center.notifications(for: name, buffering: .wait(limit: 2))
        var iterator = sequence.makeAsyncIterator()
        center.post(name, payload: 0)
        #expect(number(await iterator.next()) == 0)
        for number in 1..<5 { await center.postWaiting(name, payload: number) }
        #expect(sequence.droppedCount == 2)
        #expect(number(await iterator.next()) == 1)
        #expect(number(await iterator.next()) == 2)
    }

    @Test func `a task that has released its iterator waits like other posters`() async {
        let sequence = center.notifications(for: name, options: .priority(1), buffering: .wait(limit: 1))
        center.post(name, payload: 0)
        do {
            var iterator = sequence.makeAsyncIterator()
            #expect(number(await iterator.next()) == 0)
        }
        center.post(name, payload: 1)
        let isPosted = Gate()
        let signal = center.observe(name) { _ in isPosted.open() }
        let reading = Task {
            await isPosted.pass()
            var iterator = sequence.makeAsyncIterator()
            return [number(await iterator.next()), number(await iterator.next())]
        }
        await center.postWaiting(name, payload: 2)
        #expect(await reading.value == [1, 2])
        #expect(sequence.droppedCount == 0)
        signal.cancel()
    }

    @Test @MainActor func `observers without a queue or actor run on the poster's actor`() async {
        let token = center.observe(name) { _ in MainActor.assertIsolated() }
        await center.postWaiting(name)
        MainActor.assertIsolated()
        token.cancel()
    }

    @Test func `a main-actor post to a main-actor observer with a buffer of one drops nothing`() async {
        let values = Collector<Int>()
        await Task { @MainActor in
            let token = center.observe(name, on: MainActor.shared, buffering: .wait(limit: 1)) {
                values.add($0.payload as? Int ?? -1)
            }
            for number in 0..<100 { await center.postWaiting(name, payload: number) }
            #expect(await values.values(100) == Array(0..<100))
            token.cancel()
        }.value
    }
}
