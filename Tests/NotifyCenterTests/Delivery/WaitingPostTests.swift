import Testing

@testable import NotifyCenter

/// Posts that wait for the buffers of several readers or observers. `PostWaitingTests` covers the conditions under
/// which a post waits.
@Suite(.timeLimit(.minutes(25))) struct WaitingPostTests {
    private let center = LocalCenter()
    private let name = OrderPaid.notificationName
    private let journal = Collector<Int>()

    @Test func `a post waits until every observer has space`() async {
        let sequences = (0..<3).map { _ in center.notifications(for: name, buffering: .wait(limit: 1)) }
        center.post(name, payload: 0)
        let isPosted = Gate()
        let signal = center.observe(name) { _ in isPosted.open() }
        let posting = Task { [center, name, journal] in
            await center.postWaiting(name, payload: 1)
            journal.add(1)
        }
        await isPosted.pass()
        for sequence in sequences.dropLast() { #expect(await read(1, sequence) == [0]) }
        // A post that does not wait for the last sequence would return during these yields.
        for _ in 0..<100 { await Task.yield() }
        #expect(journal.values.isEmpty)
        #expect(await read(1, sequences[2]) == [0])
        await posting.value
        for sequence in sequences { #expect(await read(1, sequence) == [1]) }
        #expect(sequences.map(\.droppedCount) == [0, 0, 0])
        signal.cancel()
    }

    @Test(arguments: 0..<20) func `a cancelled post stops waiting for every observer`(round: Int) async {
        let sequences = (0..<3).map { _ in center.notifications(for: name, buffering: .wait(limit: 1)) }
        center.post(name, payload: 0)
        let posting = Task { await center.postWaiting(name, payload: 1) }
        for _ in 0..<round % 5 { await Task.yield() }
        posting.cancel()
        await posting.value
        #expect(sequences.map(\.droppedCount) == [1, 1, 1])
        for sequence in sequences { #expect(await read(1, sequence) == [0]) }
        center.post(name, payload: 2)
        for sequence in sequences { #expect(await read(1, sequence) == [2]) }
    }

    @Test(arguments: 0..<20) func `a cancelled post stops waiting for an async observer`(round: Int) async {
        let (begun, gate) = (Gate(), Gate())
        let token = center.observe(name, buffering: .wait(limit: 1)) { [journal] in
            begun.open()
            await gate.pass()
            journal.add($0.payload as? Int ?? -1)
        }
        center.post(name, payload: 0)
        await begun.pass()
        center.post(name, payload: 1)
        let posting = Task { await center.postWaiting(name, payload: 2) }
        for _ in 0..<round % 5 { await Task.yield() }
        posting.cancel()
        await posting.value
        #expect(token.observation.droppedCount == 1)
        gate.open()
        #expect(await journal.values(2) == [0, 1])
        await center.postWaiting(name, payload: 3)
        #expect(await journal.values(3) == [0, 1, 3])
        token.cancel()
    }

    @Test func `a post waits for a reader of messages`() async {
        let messages = center.messages(of: OrderPaid.self, buffering: .wait(limit: 1))
        center.post(OrderPaid(amount: 0))
        let posting = Task { [center, journal] in
            for amount in 1...3 {
                await center.postWaiting(OrderPaid(amount: amount))
                journal.add(amount)
            }
        }
        var iterator = messages.makeAsyncIterator()
        for amount in 0...3 { #expect(await iterator.next()?.amount == amount) }
        await posting.value
        #expect(messages.droppedCount == 0)
    }

    @Test(arguments: 0..<20) func `a post stops waiting when a message sequence ends`(round: Int) async {
        let messages = center.messages(of: OrderPaid.self, buffering: .wait(limit: 1))
        center.post(OrderPaid(amount: 0))
        let posting = Task { await center.postWaiting(OrderPaid(amount: 1)) }
        for _ in 0..<round % 5 { await Task.yield() }
        messages.cancel()
        await posting.value
        var iterator = messages.makeAsyncIterator()
        #expect(await iterator.next() == nil)
    }
}
