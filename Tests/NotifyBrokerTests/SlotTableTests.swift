import Testing

@testable import NotifyBroker

struct SlotTableTests {
    @Test("A freed place is used again, and its earlier id names nothing any more")
    func generations() {
        var table = SlotTable<String>()
        let first = table.insert { _ in "first" }
        let second = table.insert { _ in "second" }
        table.remove(Int(first.slot))
        #expect(table.count == 1)
        #expect(!table.contains(first))
        #expect(!table.isUsed(Int(first.slot)))

        let third = table.insert { _ in "third" }
        #expect(third.slot == first.slot)
        #expect(third != first)
        #expect(!table.contains(first))
        #expect(table.contains(second) && table.contains(third))
        #expect(table[Int(third.slot)] == "third")
        #expect(table.slots == [0, 1])
    }

    @Test("Removing twice frees once")
    func doubleRemoval() {
        var table = SlotTable<Int>()
        let id = table.insert { _ in 1 }
        table.remove(Int(id.slot))
        table.remove(Int(id.slot))
        #expect(table.count == 0)
        let places = Set([table.insert { _ in 2 }.slot, table.insert { _ in 3 }.slot])
        #expect(places == [0, 1])
    }

    @Test("What was never there is not there")
    func unknownIDs() {
        let table = SlotTable<Int>()
        #expect(!table.contains(ConnectionID(slot: 0, generation: 0)))
        #expect(!table.isUsed(5))
    }

    @Test("Values are changed in place")
    func changes() {
        var table = SlotTable<[Int]>()
        let id = table.insert { _ in [1] }
        table[Int(id.slot)].append(2)
        #expect(table[Int(id.slot)] == [1, 2])
    }
}
