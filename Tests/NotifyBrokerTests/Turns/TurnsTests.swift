import Testing

@testable import NotifyBroker

struct TurnsTests {
    private func id(_ slot: Int32) -> ConnectionID { ConnectionID(slot: ConnectionSlot(slot), generation: 0) }

    private func next(_ turns: inout Turns, _ count: Int) -> [Int32] {
        (0..<count).compactMap { _ in turns.next()?.slot.rawValue }
    }

    @Test func `users take turns however many connections each has`() {
        var turns = Turns()
        for slot in 0..<4 as Range<Int32> { turns.wait(id(slot), uid: 1) }
        turns.wait(id(10), uid: 2)
        turns.wait(id(20), uid: 3)
        turns.wait(id(11), uid: 2)
        turns.queueBegan()
        #expect(next(&turns, 9) == [0, 10, 20, 1, 11, 2, 3])
        #expect(!turns.isAnyoneWaiting)
    }

    @Test func `the user served least is next`() {
        var turns = Turns()
        for slot in 0..<4 as Range<Int32> { turns.wait(id(slot), uid: 1) }
        for slot in 10..<14 as Range<Int32> { turns.wait(id(slot), uid: 2) }
        turns.queueBegan()
        #expect(next(&turns, 1) == [0])
        turns.charge(300, to: 1)
        for expected in [10, 11, 12] as [Int32] {
            #expect(next(&turns, 1) == [expected])
            turns.charge(100, to: 2)
        }
        // Who comes later is not owed what it could have had before.
        turns.wait(id(20), uid: 3)
        turns.wait(id(21), uid: 3)
        #expect(next(&turns, 1) == [20])
        turns.charge(500, to: 3)
        #expect(next(&turns, 4) == [1, 13, 2, 3])
        #expect(next(&turns, 2) == [21])
    }

    @Test func `reading pauses for a user that is ahead`() {
        var turns = Turns()
        turns.wait(id(1), uid: 1)
        #expect(turns.readAllowance(of: 1) == Turns.lightSlice, "nobody else is there")
        #expect(turns.readAllowance(of: 2) == Turns.slice)
        turns.charge(1, to: 2)
        #expect(turns.readAllowance(of: 2) == 0)
        #expect(turns.readAllowance(of: 1) == 0)
        #expect(turns.readAllowance(of: 3) == Turns.slice)
    }

    @Test func `the queue pauses when the turn's work is done`() {
        var turns = Turns()
        for slot in 0..<3 as Range<Int32> { turns.wait(id(slot), uid: 1) }
        turns.queueBegan()
        _ = turns.next()
        turns.spend(Turns.unitsPerTurn)
        #expect(next(&turns, 1) == [])
        turns.ended()
        turns.queueBegan()
        #expect(next(&turns, 3) == [1, 2])
    }

    @Test func `reading may use the whole turn unless others wait`() {
        var turns = Turns()
        let alone = turns.readAllowance(of: 7)
        #expect(alone == Turns.unitsPerTurn)
        turns.wait(id(1), uid: 1)
        let beside = turns.readAllowance(of: 7)
        #expect(beside == Turns.slice)
        turns.spend(Turns.unitsPerTurn)
        #expect(turns.readAllowance(of: 7) == Turns.slice, "it is not ahead of who waits")
        #expect(turns.readAllowance(of: 1) <= 0)
        turns.ended()
        #expect(turns.readAllowance(of: 7) == Turns.slice)
        #expect(turns.readAllowance(of: 1) == Turns.lightSlice)
    }

    @Test func `unused work of a user carries over for one turn at most`() {
        var turns = Turns()
        turns.wait(id(0), uid: 2)
        turns.charge(1, to: 1)
        turns.charge(100 * Turns.unitsPerTurn, to: 2)
        turns.queueBegan()
        _ = turns.next()
        turns.wait(id(1), uid: 2)
        var used = 0
        while turns.readAllowance(of: 1) > 0, used < 100 * Turns.unitsPerTurn {
            turns.charge(Turns.slice, to: 1)
            used += Turns.slice
        }
        #expect(used <= Turns.unitsPerTurn + Turns.slice)
    }

    @Test func `without competition reading waits when the turn's work is done`() {
        var turns = Turns()
        turns.spend(Turns.unitsPerTurn)
        turns.beginSlice(turns.readAllowance(of: 7))
        #expect(turns.isSliceEmpty)
        turns.ended()
        turns.beginSlice(turns.readAllowance(of: 7))
        #expect(!turns.isSliceEmpty)
    }

    @Test func `reductions take up an eighth of the time`() {
        var turns = Turns()
        #expect(turns.mayReduce(now: .zero) == true)
        turns.reduced(bytes: 1 << 20, now: .seconds(1))
        let cost = Duration.nanoseconds((1 << 20) / 256 * Turns.Cost.reduction * Turns.Cost.nanoseconds)
        let early = turns.mayReduce(now: .seconds(1) + cost * 7)
        let later = turns.mayReduce(now: .seconds(1) + cost * 8)
        #expect(!early && later)
    }
}
