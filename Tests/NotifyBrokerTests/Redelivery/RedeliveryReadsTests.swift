import Testing

@testable import NotifyBroker

@Suite struct RedeliveryReadsTests {
    private let slots = (0..<3).map { DurableSlot($0) }

    @Test func `subscriptions are served in turn, one at a time, and queued once`() {
        var reads = RedeliveryReads()
        for slot in slots + slots { reads.wake(slot) }
        #expect(reads.next() == slots[0])
        reads.begin(.init(slot: slots[0], purpose: .delivery, sequences: [1]), now: .seconds(1))
        #expect(reads.started == .seconds(1) && reads.next() == nil)
        reads.wake(slots[0])
        #expect(reads.finish()?.sequences == [1] && reads.started == nil && reads.finish() == nil)
        #expect([reads.next(), reads.next(), reads.next(), reads.next()] == [slots[1], slots[2], slots[0], nil])
        reads.wake(slots[1], isNeeded: false)
        #expect(reads.next() == nil)
    }

    @Test func `a failed read waits until storage works again`() {
        var reads = RedeliveryReads()
        reads.failed(slots[1])
        reads.failed(slots[0])
        #expect(reads.next() == nil)
        reads.retry()
        #expect([reads.next(), reads.next(), reads.next()] == [slots[1], slots[0], nil])
        reads.retry()
        #expect(reads.next() == nil)
    }

    @Test func `a removed subscription is forgotten, even while its copies are read`() {
        var reads = RedeliveryReads()
        for slot in slots { reads.wake(slot) }
        reads.failed(slots[0])
        reads.removed(slots[0])
        #expect(reads.next() == slots[1])
        reads.begin(.init(slot: slots[1], purpose: .deadLetters, sequences: [1, 2]), now: .zero)
        reads.removed(slots[1])
        #expect(reads.finish()?.sequences == [])
        reads.retry()
        #expect([reads.next(), reads.next()] == [slots[2], nil])
    }

    @Test func `all waiting subscriptions continue in turn with the others, and wait again if they fail`() {
        var reads = RedeliveryReads()
        let many = (0..<200).map { DurableSlot($0) }
        for slot in many { reads.failed(slot) }
        reads.retry()
        let others = [DurableSlot(998), DurableSlot(999)]
        for other in others { reads.wake(other) }
        #expect([reads.next(), reads.next(), reads.next(), reads.next()] == [many[0], others[0], many[1], others[1]])
        for slot in many.dropFirst(2) {
            #expect(reads.hasFailed(slot) && reads.next() == slot)
            reads.failed(slot)
        }
        #expect(reads.next() == nil)
        reads.retry()
        reads.removed(many[2])
        #expect(reads.next() == many[3])
    }
}
