import Testing

@testable import NotifyBroker

struct SlotTableTests {
    @Test
    func `a freed slot is reused, and its earlier id is invalid`() {
        var table = SlotTable<ConnectionID, String>()
        let first = table.insert { _ in "first" }
        let second = table.insert { _ in "second" }
        table.remove(first.index)
        #expect(table.count == 1)
        #expect(!table.contains(first))
        #expect(!table.isUsed(first.index))

        let third = table.insert { _ in "third" }
        #expect(third.slot == first.slot)
        #expect(third != first)
        #expect(!table.contains(first))
        #expect(table.contains(second) && table.contains(third))
        #expect(table[third.index] == "third")
        #expect(table.indices == [0, 1])
    }

    @Test
    func `a slot that is removed twice is freed once`() {
        var table = SlotTable<ConnectionID, Int>()
        let id = table.insert { _ in 1 }
        table.remove(id.index)
        table.remove(id.index)
        #expect(table.count == 0)
        let places = Set([table.insert { _ in 2 }.index, table.insert { _ in 3 }.index])
        #expect(places == [0, 1])
    }

    @Test
    func `unknown ids are not contained`() {
        let table = SlotTable<ConnectionID, Int>()
        #expect(!table.contains(ConnectionID(index: 0, generation: 0)))
        #expect(!table.isUsed(5))
    }

    @Test
    func `values are changed in place`() {
        var table = SlotTable<ConnectionID, [Int]>()
        let id = table.insert { _ in [1] }
        table[id.index].append(2)
        #expect(table[id.index] == [1, 2])
    }
}
