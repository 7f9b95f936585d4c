import Testing

@testable import NotifyCenter

/// Sequences with several readers.
@Suite(.timeLimit(.minutes(25))) struct SequenceReadersTests {
    private let center = LocalCenter()
    private let name: NotificationName = "orders.created"

    private func post(_ numbers: Range<Int>) {
        for number in numbers { center.post(name, payload: number) }
    }

    private typealias Iterator = NotificationSequence<LocalNotification>.Iterator

    private func read(_ count: Int, _ iterator: inout Iterator) async -> [Int] {
        var numbers: [Int] = []
        while numbers.count < count, let notification = await iterator.next() {
            numbers.append(notification.payload as? Int ?? -1)
        }
        return numbers
    }

    @Test func `each reader gets every message`() async {
        let sequence = center.notifications(for: name)
        var (first, second) = (sequence.makeAsyncIterator(), sequence.makeAsyncIterator())
        post(0..<100)
        #expect(await read(100, &first) == Array(0..<100))
        #expect(await read(100, &second) == Array(0..<100))
    }

    @Test func `concurrent readers each get every message`() async {
        let sequence = center.notifications(for: name)
        let iterators = (0..<4).map { _ in sequence.makeAsyncIterator() }
        await withTaskGroup(of: [Int].self) { group in
            for iterator in iterators {
                nonisolated(unsafe) var iterator = iterator
                group.addTask {
                    var numbers: [Int] = []
                    while numbers.count < 500, let next = await iterator.next() {
                        numbers.append(next.payload as? Int ?? -1)
                    }
                    return numbers
                }
            }
            post(0..<500)
            for await numbers in group { #expect(numbers == Array(0..<500)) }
        }
    }

    @Test func `a later reader starts with messages posted after it was made`() async {
        let sequence = center.notifications(for: name)
        post(0..<2)
        var first = sequence.makeAsyncIterator()
        var second = sequence.makeAsyncIterator()
        post(2..<4)
        #expect(await read(4, &first) == [0, 1, 2, 3])
        #expect(await read(2, &second) == [2, 3])
    }

    @Test func `a reader made after all others have ended continues where the last one stopped`() async {
        let sequence = center.notifications(for: name)
        do {
            var other = sequence.makeAsyncIterator()
            var first = sequence.makeAsyncIterator()
            post(0..<4)
            #expect(await read(1, &other) == [0])
            #expect(await read(2, &first) == [0, 1])
            _ = consume other
            #expect(await read(1, &first) == [2])
        }
        post(4..<5)
        var next = sequence.makeAsyncIterator()
        #expect(await read(2, &next) == [3, 4])
    }

    @Test func `cancelling one reader's task leaves the other readers`() async {
        let sequence = center.notifications(for: name)
        var first = sequence.makeAsyncIterator()
        nonisolated(unsafe) var second = sequence.makeAsyncIterator()
        let reading = Task { await second.next() }
        reading.cancel()
        #expect(await reading.value == nil)
        post(0..<1)
        #expect(await read(1, &first) == [0])
        #expect(sequence.observation.isActive)
        let last = Task { [sequence] in
            var iterator = sequence.makeAsyncIterator()
            return await iterator.next()
        }
        last.cancel()
        _ = await last.value
        #expect(sequence.observation.isActive)
        sequence.cancel()
        #expect(await first.next() == nil)
    }

    @Test func `cancelling the only reader's task ends the sequence`() async {
        let sequence = center.notifications(for: name)
        let reading = Task { [sequence] in
            var iterator = sequence.makeAsyncIterator()
            return await iterator.next()
        }
        reading.cancel()
        #expect(await reading.value == nil)
        #expect(!sequence.observation.isActive)
    }

    @Test func `the end reaches all readers`() async {
        let sequence = center.notifications(for: name)
        var (first, second) = (sequence.makeAsyncIterator(), sequence.makeAsyncIterator())
        sequence.cancel()
        var third = sequence.makeAsyncIterator()
        #expect(await first.next() == nil)
        #expect(await second.next() == nil)
        #expect(await third.next() == nil)
    }

    @Test func `each reader has its own buffer, and the drops of all are counted`() async {
        let sequence = center.notifications(for: name, buffering: .dropNewest(limit: 2))
        var (first, second) = (sequence.makeAsyncIterator(), sequence.makeAsyncIterator())
        post(0..<2)
        #expect(await read(2, &first) == [0, 1])
        post(2..<4)
        #expect(await read(2, &first) == [2, 3])
        #expect(await read(2, &second) == [0, 1])
        #expect(sequence.droppedCount == 2)
        _ = consume second
        #expect(sequence.droppedCount == 2)
    }

    @Test func `a once sequence has one element per reader`() async {
        let sequence = center.notifications(for: name, options: .once)
        var (first, second) = (sequence.makeAsyncIterator(), sequence.makeAsyncIterator())
        post(0..<3)
        #expect(await read(3, &first) == [0])
        #expect(sequence.observation.isActive)
        #expect(await read(3, &second) == [0])
        #expect(!sequence.observation.isActive)
    }

    @Test func `a post waits for the slowest reader`() async {
        let sequence = center.notifications(for: name, buffering: .wait(limit: 1))
        var first = sequence.makeAsyncIterator()
        var second = sequence.makeAsyncIterator()
        post(0..<1)
        let posted = Collector<Int>()
        let posting = Task.detached { [center, name] in
            await center.postWaiting(name, payload: 1)
            posted.add(1)
        }
        #expect(await read(2, &first) == [0, 1])
        #expect(posted.values == [])
        #expect(await read(2, &second) == [0, 1])
        await posting.value
        #expect(posted.values == [1])
    }
}
