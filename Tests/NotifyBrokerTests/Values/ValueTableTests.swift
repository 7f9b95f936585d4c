import TestSupport
import Testing

@testable import NotifyBroker
@testable import NotifyLog

@Suite struct ValueTableTests {
    /// Keys whose 32-bit hashes are all equal if `bits` is 0, often equal if it is low, and rarely equal otherwise.
    private static func key(_ number: Int, bits: Int = 0) -> ValueKey {
        ValueKey(high: number, low: number << 32 | number &* 0x9E37_79B9 & bits)
    }

    @Test func `a record is found by its key until it is removed`() {
        var table = ValueTable()
        #expect(table.find(Self.key(1)) == nil)
        let slot = table.insert(Self.key(1), nameKey: nil, number: 7)
        #expect(table.find(Self.key(1)) == slot)
        #expect(table.record(at: slot)?.number == 7)
        table[slot].committed = ValueEntry(sequence: 3, uid: 1, bytes: 2)
        #expect(table.all.map(\.committed?.sequence) == [3])
        table.remove(slot)
        #expect(table.find(Self.key(1)) == nil)
        #expect(table.record(at: slot) == nil)
        #expect(table.count == 0)
    }

    @Test func `the slot of a removed record is reused, and the new record is empty`() {
        var table = ValueTable()
        let kept = table.insert(Self.key(1), nameKey: nil, number: 1)
        let removed = table.insert(Self.key(2), nameKey: nil, number: 2)
        table[removed].committed = ValueEntry(sequence: 3, uid: 1, bytes: 2)
        (table[removed].inFlight, table[removed].pending) = (4, 5)
        table.remove(removed)
        let slot = table.insert(Self.key(3), nameKey: nil, number: 3)
        #expect(slot == removed)
        #expect(table[slot].committed == nil && table[slot].inFlight == nil && table[slot].pending == nil)
        #expect(table.find(Self.key(2)) == nil)
        #expect(table.find(Self.key(1)) == kept)
    }

    @Test func `keys with the same 32 bits have different records`() {
        let keys = (0..<10).map { Self.key($0) }
        #expect(Set(keys.map(\.hash)).count == 1 && Set(keys).count == 10)
        var table = ValueTable()
        for (number, key) in keys.enumerated() { _ = table.insert(key, nameKey: nil, number: UInt64(number)) }
        for (number, key) in keys.enumerated() {
            #expect(table.find(key).map { table[$0].number } == UInt64(number))
        }
        if let slot = table.find(keys[4]) { table.remove(slot) }
        #expect(table.find(keys[4]) == nil)
        #expect(keys.count { table.find($0) != nil } == 9)
    }

    @Test func `the records of a name are those with an object`() {
        var table = ValueTable()
        let name = Self.key(1)
        let slot = table.insert(name, nameKey: nil, number: 1)
        let objects = (2...4).map { table.insert(Self.key($0), nameKey: name, number: UInt64($0)) }
        _ = table.insert(Self.key(5), nameKey: Self.key(6), number: 5)
        #expect(table.slots(ofObjectsOf: name) == Set(objects))
        table.remove(objects[0])
        table.remove(slot)
        #expect(table.slots(ofObjectsOf: name) == Set(objects[1...]))
        table.remove(objects[1])
        table.remove(objects[2])
        #expect(table.slots(ofObjectsOf: name).isEmpty)
    }

    @Test(arguments: [0, 0xF, 0xFFFF_FFFF])
    func `the table agrees with a dictionary`(bits: Int) {
        let seed = UInt64.random(in: 0...UInt64.max)
        print("ValueTableTests: seed \(seed)")
        var random = SeededGenerator(seed: seed)
        var table = ValueTable()
        var numbers: [ValueKey: UInt64] = [:]
        var names: [ValueKey: ValueKey] = [:]
        for step in 1...4_000 as ClosedRange<UInt64> {
            let key = Self.key(Int.random(in: 0..<200, using: &random), bits: bits)
            let slot = table.find(key)
            #expect(slot.map { table[$0].number } == numbers[key], "seed \(seed), step \(step)")
            let isGrowing = step / 500 % 2 == 0
            if let slot, random.chance(isGrowing ? 30 : 70) {
                table.remove(slot)
                (numbers[key], names[key]) = (nil, nil)
            } else if slot == nil, random.chance(isGrowing ? 70 : 30) {
                names[key] = random.chance(50) ? nil : Self.key(1_000 + Int.random(in: 0..<5, using: &random))
                numbers[key] = step
                _ = table.insert(key, nameKey: names[key], number: step)
            }
            #expect(table.count == numbers.count, "seed \(seed), step \(step)")
        }
        #expect(Set(table.all.map(\.number)) == Set(numbers.values), "seed \(seed)")
        for name in (1_000..<1_005).map({ Self.key($0) }) {
            let found = Set(table.slots(ofObjectsOf: name).map { table[$0].key })
            #expect(found == Set(names.filter { $0.value == name }.keys), "seed \(seed)")
        }
    }
}
