import Testing

@testable import NotifyBroker

struct FairSchedulerTests {
    private func id(_ slot: Int32) -> ConnectionID { ConnectionID(slot: ConnectionSlot(slot), generation: 0) }

    private func next(_ scheduler: inout FairScheduler, _ count: Int) -> [Int32] {
        (0..<count).compactMap { _ in scheduler.next()?.slot.rawValue }
    }

    @Test func `users take turns however many connections each has`() {
        var scheduler = FairScheduler()
        for slot in 0..<4 as Range<Int32> { scheduler.enqueue(id(slot), uid: 1) }
        scheduler.enqueue(id(10), uid: 2)
        scheduler.enqueue(id(20), uid: 3)
        scheduler.enqueue(id(11), uid: 2)
        scheduler.beginServingQueue()
        #expect(next(&scheduler, 9) == [0, 10, 20, 1, 11, 2, 3])
        #expect(!scheduler.hasQueuedConnections)
    }

    @Test func `the user with the least service is next`() {
        var scheduler = FairScheduler()
        for slot in 0..<4 as Range<Int32> { scheduler.enqueue(id(slot), uid: 1) }
        for slot in 10..<14 as Range<Int32> { scheduler.enqueue(id(slot), uid: 2) }
        scheduler.beginServingQueue()
        #expect(next(&scheduler, 1) == [0])
        scheduler.charge(300, to: 1)
        for expected in [10, 11, 12] as [Int32] {
            #expect(next(&scheduler, 1) == [expected])
            scheduler.charge(100, to: 2)
        }
        // A user that joins the queue later gets no credit for the time before.
        scheduler.enqueue(id(20), uid: 3)
        scheduler.enqueue(id(21), uid: 3)
        #expect(next(&scheduler, 1) == [20])
        scheduler.charge(500, to: 3)
        #expect(next(&scheduler, 4) == [1, 13, 2, 3])
        #expect(next(&scheduler, 2) == [21])
    }

    @Test func `reading pauses for a user with more service than the queued users`() {
        var scheduler = FairScheduler()
        scheduler.enqueue(id(1), uid: 1)
        #expect(scheduler.readAllowance(of: 1) == FairScheduler.reducedSlice, "no other user is queued")
        #expect(scheduler.readAllowance(of: 2) == FairScheduler.slice)
        scheduler.charge(1, to: 2)
        #expect(scheduler.readAllowance(of: 2) == 0)
        #expect(scheduler.readAllowance(of: 1) == 0)
        #expect(scheduler.readAllowance(of: 3) == FairScheduler.slice)
    }

    @Test func `the queue pauses when the turn's work is done`() {
        var scheduler = FairScheduler()
        for slot in 0..<3 as Range<Int32> { scheduler.enqueue(id(slot), uid: 1) }
        scheduler.beginServingQueue()
        _ = scheduler.next()
        scheduler.spend(FairScheduler.unitsPerTurn)
        #expect(next(&scheduler, 1) == [])
        scheduler.turnEnded()
        scheduler.beginServingQueue()
        #expect(next(&scheduler, 3) == [1, 2])
    }

    @Test func `reading may use the whole turn unless other users wait`() {
        var scheduler = FairScheduler()
        let alone = scheduler.readAllowance(of: 7)
        #expect(alone == FairScheduler.unitsPerTurn)
        scheduler.enqueue(id(1), uid: 1)
        let beside = scheduler.readAllowance(of: 7)
        #expect(beside == FairScheduler.slice)
        scheduler.spend(FairScheduler.unitsPerTurn)
        #expect(
            scheduler.readAllowance(of: 7) == FairScheduler.slice,
            "the user has not had more service than the queued user")
        #expect(scheduler.readAllowance(of: 1) <= 0)
        scheduler.turnEnded()
        #expect(scheduler.readAllowance(of: 7) == FairScheduler.slice)
        #expect(scheduler.readAllowance(of: 1) == FairScheduler.reducedSlice)
    }

    @Test func `a user that used less than its share may catch up by one turn's budget at most`() {
        var scheduler = FairScheduler()
        scheduler.enqueue(id(0), uid: 2)
        scheduler.charge(1, to: 1)
        scheduler.charge(100 * FairScheduler.unitsPerTurn, to: 2)
        scheduler.beginServingQueue()
        _ = scheduler.next()
        scheduler.enqueue(id(1), uid: 2)
        var used = 0
        while scheduler.readAllowance(of: 1) > 0, used < 100 * FairScheduler.unitsPerTurn {
            scheduler.charge(FairScheduler.slice, to: 1)
            used += FairScheduler.slice
        }
        #expect(used <= FairScheduler.unitsPerTurn + FairScheduler.slice)
    }

    @Test func `without competition, reading waits when the turn's work is done`() {
        var scheduler = FairScheduler()
        scheduler.spend(FairScheduler.unitsPerTurn)
        scheduler.beginSlice(scheduler.readAllowance(of: 7))
        #expect(scheduler.isSliceEmpty)
        scheduler.turnEnded()
        scheduler.beginSlice(scheduler.readAllowance(of: 7))
        #expect(!scheduler.isSliceEmpty)
    }

    @Test func `reductions of outboxes to the latest messages take at most an eighth of the time`() {
        var scheduler = FairScheduler()
        #expect(scheduler.mayReduce(now: .zero) == true)
        scheduler.reduced(bytes: 1 << 20, now: .seconds(1))
        let cost = Duration.nanoseconds((1 << 20) / 256 * FairScheduler.Cost.reduction * FairScheduler.Cost.nanoseconds)
        let early = scheduler.mayReduce(now: .seconds(1) + cost * 7)
        let later = scheduler.mayReduce(now: .seconds(1) + cost * 8)
        #expect(!early && later)
    }
}
