import Testing

@testable import NotifyBroker

struct FlushQueueTests {
    private func id(_ slot: Int32) -> ConnectionID { ConnectionID(slot: ConnectionSlot(slot), generation: 0) }

    @Test func `users take turns, and so do the connections of a user`() {
        var queue = FlushQueue()
        for slot in 1...3 { queue.append(id(Int32(slot)), of: 100) }
        queue.append(id(10), of: 200)
        queue.append(id(11), of: 200)
        #expect((0..<6).map { _ in queue.next() } == [id(1), id(10), id(2), id(11), id(3), nil])
        #expect(queue.isEmpty)
    }

    @Test func `users that come and go take turns`() {
        var queue = FlushQueue()
        queue.append(id(1), of: 100)
        queue.append(id(20), of: 200)
        queue.append(id(21), of: 200)
        queue.append(id(30), of: 300)
        #expect((0..<3).map { _ in queue.next() } == [id(1), id(20), id(30)])
        queue.append(id(40), of: 400)
        queue.append(id(2), of: 100)
        // A new user is the last one of the round.
        #expect((0..<3).map { _ in queue.next() } == [id(40), id(2), id(21)])
        #expect(queue.isEmpty && queue.next() == nil)
        queue.append(id(31), of: 300)
        #expect(queue.next() == id(31) && queue.isEmpty)
    }
}

struct OutputPacerTests {
    private let id = ConnectionID(slot: ConnectionSlot(1), generation: 0)

    @Test func `a user waits until the work of its last post is done`() {
        var pacer = OutputPacer()
        pacer.posted(by: 100, units: 50, flushed: 10)
        #expect(pacer.mustWait(100, flushed: 59))
        #expect(!pacer.mustWait(200, flushed: 59), "another user")
        pacer.wait(id, of: 100)
        #expect(pacer.takeReady(flushed: 59, isBehind: true) == [])
        #expect(!pacer.mustWait(100, flushed: 60))
        #expect(pacer.takeReady(flushed: 60, isBehind: true) == [id])
        #expect(pacer.isEmpty)
    }

    @Test func `the work of several posts adds up`() {
        var pacer = OutputPacer()
        pacer.posted(by: 100, units: 50, flushed: 0)
        pacer.posted(by: 100, units: 50, flushed: 0)
        #expect(pacer.mustWait(100, flushed: 99))
        #expect(!pacer.mustWait(100, flushed: 100))
    }

    @Test func `connections that continue do not wait for those that continue in a later turn`() {
        var pacer = OutputPacer()
        pacer.posted(by: 100, units: 50, flushed: 0)
        for _ in 0..<65 { pacer.wait(id, of: 100) }
        #expect(pacer.takeReady(flushed: 50, isBehind: true).count == 64)
        #expect(!pacer.mustWait(100, flushed: 50), "otherwise each of them would wait again, while output waits")
        pacer.posted(by: 100, units: 50, flushed: 50)
        #expect(pacer.mustWait(100, flushed: 99))
        #expect(pacer.takeReady(flushed: 99, isBehind: true) == [])
        #expect(pacer.takeReady(flushed: 100, isBehind: true).count == 1)
    }

    @Test func `no user waits when no output waits, and 64 of its connections continue at a time`() {
        var pacer = OutputPacer()
        pacer.posted(by: 100, units: 50, flushed: 0)
        for _ in 0..<65 { pacer.wait(id, of: 100) }
        #expect(pacer.takeReady(flushed: 0, isBehind: false).count == 64)
        #expect(!pacer.isEmpty)
        #expect(pacer.takeReady(flushed: 0, isBehind: false).count == 1)
        #expect(pacer.isEmpty)
    }
}
