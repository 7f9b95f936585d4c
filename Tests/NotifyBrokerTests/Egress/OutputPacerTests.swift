import Testing

@testable import NotifyBroker

struct OutputPacerTests {
    private let id = ConnectionID(slot: ConnectionSlot(1), generation: 0)

    @Test func `a user waits until the work of its last post is done`() {
        var pacer = OutputPacer()
        pacer.posted(by: 100, units: 50, flushed: 10)
        #expect(pacer.mustWait(100, flushed: 59))
        #expect(!pacer.mustWait(200, flushed: 59), "another user does not wait")
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

    @Test func `connections that continue may post while others of their user still wait`() {
        var pacer = OutputPacer()
        pacer.posted(by: 100, units: 50, flushed: 0)
        for _ in 0..<65 { pacer.wait(id, of: 100) }
        #expect(pacer.takeReady(flushed: 50, isBehind: true).count == 64)
        #expect(!pacer.mustWait(100, flushed: 50), "those that continue may post, although the 65th waits")
        pacer.posted(by: 100, units: 50, flushed: 50)
        #expect(pacer.mustWait(100, flushed: 99))
        #expect(pacer.takeReady(flushed: 99, isBehind: true) == [])
        #expect(pacer.takeReady(flushed: 100, isBehind: true).count == 1)
    }

    @Test func `no user waits when no output waits, and 64 connections of a user continue at a time`() {
        var pacer = OutputPacer()
        pacer.posted(by: 100, units: 50, flushed: 0)
        for _ in 0..<65 { pacer.wait(id, of: 100) }
        #expect(pacer.takeReady(flushed: 0, isBehind: false).count == 64)
        #expect(!pacer.isEmpty)
        #expect(pacer.takeReady(flushed: 0, isBehind: false).count == 1)
        #expect(pacer.isEmpty)
    }
}
