import Testing

@testable import NotifyCenter

@Suite(.timeLimit(.minutes(25))) struct NotificationSequenceTests {
    private static let name = NotificationName(literal: "orders.created")
    private let center = LocalCenter()
    private let name = Self.name

    private struct Paid: NotificationMessage {
        static let notificationName = NotificationSequenceTests.name
        let order: Int
    }

    private func post(_ numbers: Range<Int>) {
        for number in numbers { center.post(name, payload: number) }
    }

    @Test func `messages posted before the first read are buffered`() async throws {
        let sequence = center.notifications(for: name)
        let pattern = try center.notifications(for: "orders.*")
        let messages = center.messages(of: Paid.self)
        #expect(center.observationCount == 3)
        post(0..<3)
        center.post(Paid(order: 3))
        center.post(name, payload: Paid(order: 4))
        #expect(await read(4, sequence) == [0, 1, 2, -1])
        #expect(await read(5, pattern) == [0, 1, 2, -1, -1])
        var iterator = messages.makeAsyncIterator()
        #expect(await iterator.next()?.order == 3)
        #expect(await iterator.next(isolation: nil)?.order == 4)
    }

    @Test func `a sequence filters by object`() async {
        let sequence = center.notifications(for: name, object: "a")
        center.post(name, object: "b", payload: 1)
        center.post(name, object: "a", payload: 2)
        #expect(await read(1, sequence) == [2])
    }

    @Test func `an invalid pattern is refused`() {
        #expect(throws: NameError.self) { try center.notifications(for: "a..b") }
        #expect(center.observationCount == 0)
    }

    @Test(arguments: 0..<50) func `a waiting reader gets posted messages`(round: Int) async {
        let sequence = center.notifications(for: name)
        async let numbers = read(500, sequence)
        if round % 2 == 0 { await Task.yield() }
        post(0..<500)
        #expect(await numbers == Array(0..<500))
        #expect(sequence.droppedCount == 0)
    }

    @Test(arguments: 0..<10) func `each poster's order is kept`(round: Int) async {
        let posts = 500
        let sequence = center.notifications(for: .every, buffering: .dropNewest(limit: 4 * posts))
        async let numbers = read(4 * posts, sequence)
        await withTaskGroup(of: Void.self) { group in
            for poster in 0..<4 {
                group.addTask { [center, name] in
                    for number in 0..<posts { center.post(name, payload: poster * posts + number) }
                }
            }
        }
        let all = await numbers
        for poster in 0..<4 {
            let range = poster * posts..<(poster + 1) * posts
            #expect(all.filter(range.contains) == Array(range))
        }
    }

    @Test(arguments: [4, 5, 6, 20])
    func `messages beyond the buffer are dropped and counted`(count: Int) async {
        let oldest = center.notifications(for: name, buffering: .dropOldest(limit: 5))
        let newest = center.notifications(for: name, buffering: .dropNewest(limit: 5))
        let waiting = center.notifications(for: name, buffering: .wait(limit: 5))
        post(0..<count)
        let lost = max(0, count - 5)
        #expect([oldest, newest, waiting].map(\.droppedCount) == [lost, lost, lost])
        let all = Array(0..<count)
        #expect(await read(min(5, count), oldest) == Array(all.suffix(5)))
        #expect(await read(min(5, count), newest) == Array(all.prefix(5)))
        #expect(await read(min(5, count), waiting) == Array(all.prefix(5)))
    }

    @Test func `values are delivered first`() async {
        center.setValue(1, for: name)
        let sequence = center.notifications(for: name)
        let without = center.notifications(for: name, options: .withoutValues)
        post(2..<3)
        #expect(await read(2, sequence) == [1, 2])
        #expect(await read(1, without) == [2])
    }

    @Test func `a once sequence has one element`() async {
        let sequence = center.notifications(for: name, options: .once)
        post(0..<3)
        #expect(center.observationCount == 1)
        #expect(await read(3, sequence) == [0])
        #expect(center.observationCount == 0)
        #expect(sequence.droppedCount == 0)
    }

    @Test func `a once sequence keeps its first element with any buffer`() async {
        let sequence = center.notifications(for: name, options: .once, buffering: .dropOldest(limit: 1))
        let messages = center.messages(of: Paid.self, options: .once, buffering: .dropOldest(limit: 1))
        for order in 0..<3 { center.post(Paid(order: order)) }
        for _ in 0..<3 { await center.postWaiting(Paid(order: 3)) }
        #expect([sequence.droppedCount, messages.droppedCount] == [0, 0])
        var (iterator, paid) = (sequence.makeAsyncIterator(), messages.makeAsyncIterator())
        #expect((await iterator.next()?.payload as? Paid)?.order == 0)
        #expect(await paid.next()?.order == 0)
        #expect(await iterator.next() == nil)
        #expect(await paid.next() == nil)
    }

    @Test func `a once sequence has one message of its type`() async {
        let messages = center.messages(of: Paid.self, options: .once)
        center.post(name, payload: "no message")
        for order in 0..<3 { center.post(Paid(order: order)) }
        #expect(center.observationCount == 1)
        var iterator = messages.makeAsyncIterator()
        #expect(await iterator.next()?.order == 0)
        #expect(center.observationCount == 0)
        #expect(await iterator.next() == nil)
        #expect(messages.droppedCount == 0)
    }

    @Test func `dropped messages of a type are counted`() async {
        let messages = center.messages(of: Paid.self, buffering: .dropOldest(limit: 2))
        for order in 0..<5 {
            center.post(Paid(order: order))
            center.post(name, payload: order)
        }
        #expect(messages.droppedCount == 3)
        #expect(messages.observation.droppedCount == 3)
        var iterator = messages.makeAsyncIterator()
        for order in 3..<5 { #expect(await iterator.next()?.order == order) }
    }

    // MARK: The end

    @Test func `the observation ends when the sequence is released`() async {
        var sequence: NotificationSequence<LocalNotification>? = center.notifications(for: name)
        var iterator = sequence?.makeAsyncIterator()
        sequence = nil
        post(0..<1)
        #expect(await iterator?.next() != nil)
        #expect(center.observationCount == 1)
        iterator = nil
        #expect(center.observationCount == 0)
    }

    @Test func `the observation ends with the loop`() async {
        let name = self.name
        let center = self.center
        let gate = Gate()
        async let number: Int? = {
            for await notification in center.notifications(for: name) {
                return notification.payload as? Int
            }
            return nil
        }()
        async let posting: Void = {
            #expect(await eventually { center.observationCount == 1 })
            center.post(name, payload: 7)
            gate.open()
        }()
        #expect(await number == 7)
        await posting
        #expect(center.observationCount == 0)
    }

    @Test func `the center and buffered messages are released with the sequence`() async {
        final class Payload: Sendable {}
        var payload: Payload? = Payload()
        var center: LocalCenter? = LocalCenter()
        let watched: [Weak<any AnyObject & Sendable>] = [Weak(payload), Weak(center)]
        var sequence = center?.notifications(for: name)
        center?.post(name, payload: payload)
        center = nil
        payload = nil
        #expect(watched.allSatisfy { !$0.isGone })
        #expect(sequence?.droppedCount == 0)
        sequence = nil
        #expect(watched.allSatisfy { $0.isGone })
    }

    @Test(arguments: 0..<100) func `cancelling a reader's task ends its iteration`(round: Int) async {
        let sequence = center.notifications(for: name)
        let reader = Task {
            var count = 0
            for await _ in sequence { count += 1 }
            return count
        }
        // The task is cancelled before the reader starts, while the reader suspends, or while the reader waits.
        for _ in 0..<round % 5 { await Task.yield() }
        reader.cancel()
        _ = await reader.value
        #expect(center.observationCount == 0)
        post(0..<3)
        #expect(await read(1, sequence) == [])
    }

    @Test func `a reader cancelled before it reads gets nothing`() async {
        let sequence = center.notifications(for: name)
        post(0..<3)
        let gate = Gate()
        let reader = Task {
            await gate.pass()
            return await read(3, sequence)
        }
        reader.cancel()
        gate.open()
        #expect(await reader.value == [])
        #expect(center.observationCount == 0)
    }

    @Test func `a sequence can be cancelled from another task`() async {
        let sequence = center.notifications(for: name)
        let reader = Task { await read(10, sequence) }
        await Task.yield()
        sequence.cancel()
        #expect(await reader.value == [])
        #expect(center.observationCount == 0)
    }

    @Test func `the end of the sequence wakes readers of messages`() async {
        let messages = center.messages(of: Paid.self)
        let readers = (0..<3).map { _ in
            Task {
                var iterator = messages.makeAsyncIterator()
                return await iterator.next() == nil
            }
        }
        for _ in 0..<10 { await Task.yield() }
        messages.cancel()
        for reader in readers { #expect(await reader.value) }
    }

    @Test func `removing all observations ends the sequence`() async {
        let sequence = center.notifications(for: name)
        let reader = Task { await read(10, sequence) }
        await Task.yield()
        center.removeAllObservations()
        #expect(await reader.value == [])
    }

    @Test func `each of several tasks gets what is posted after it has begun to read`() async {
        let sequence = center.notifications(for: name)
        let begun = Collector<Int>()
        let readers = (0..<3).map { number in
            Task {
                var iterator = sequence.makeAsyncIterator()
                begun.add(number)
                var values: [Int] = []
                while values.count < 300, let next = await iterator.next() { values.append(next.payload as? Int ?? -1) }
                return values
            }
        }
        _ = await begun.values(3)
        post(0..<300)
        for reader in readers { #expect(await reader.value == Array(0..<300)) }
    }

    @Test @MainActor func `reading stays on the reader's actor`() async {
        var iterator = center.notifications(for: name).makeAsyncIterator()
        post(0..<1)
        _ = await iterator.next()
        MainActor.assertIsolated()
        let reader = Task { @MainActor in
            let result = await iterator.next(isolation: MainActor.shared)
            MainActor.assertIsolated()
            return result != nil
        }
        post(1..<2)
        #expect(await reader.value)
    }
}
