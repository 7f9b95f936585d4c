import TestSupport
import Testing

@testable import NotifyStore

struct NameTableTests {
    private func add(_ name: String, to table: inout NameTable) -> UInt32 {
        let number = name.withUTF8Bytes { table.add($0) }
        return table.id(of: number)
    }

    private func find(_ name: String, in table: borrowing NameTable) -> UInt32? {
        Array(name.utf8).withUnsafeBytes { table.find($0) }.map { table.id(of: $0) }
    }

    private func name(_ id: UInt32, in table: borrowing NameTable) -> String? {
        guard let number = table.number(ofID: id) else { return nil }
        return table.withBytes(of: number) { String(decoding: $0, as: UTF8.self) }
    }

    @Test func `ids count from 1 and lead back to the names`() {
        var table = NameTable()
        for number in 1...10_000 as ClosedRange<UInt32> { #expect(add("name.\(number)", to: &table) == number) }
        for number in 1...10_000 as ClosedRange<UInt32> {
            #expect(find("name.\(number)", in: table) == number)
            #expect(name(number, in: table) == "name.\(number)")
        }
        #expect(find("name.0", in: table) == nil)
        #expect(name(0, in: table) == nil)
        #expect(name(10_001, in: table) == nil)
    }

    @Test func `a name takes the memory of its bytes and a bounded overhead`() {
        var table = NameTable()
        for number in 0..<1 << 17 as Range<UInt32> { _ = add("name.of.24.bytes.\(1_000_000 + number)", to: &table) }
        // Up to half of the storage may be unused, because the storage grows by doubling.
        let bytesEach = table.byteCount / table.count
        #expect(bytesEach >= 24 + 24)
        #expect(bytesEach <= 2 * (24 + 24 + 12 + 4 + 9))
    }

    @Test func `ids of removed names are not reused, but their numbers are`() {
        let seed = UInt64.random(in: 0 ... .max)
        print("seed \(seed)")
        var generator = SeededGenerator(seed: seed)
        var table = NameTable()
        var names: [UInt32: String] = [:]
        var nextID: UInt32 = 1
        var most = 0
        for round in 0..<300 {
            let earlier = nextID
            for number in 0..<Int.random(in: 0...60, using: &generator) {
                #expect(add("\(round).\(number)", to: &table) == nextID)
                names[nextID] = "\(round).\(number)"
                nextID += 1
            }
            most = max(most, names.count)
            if generator.chance(20) {
                table.rollBack(toNextID: earlier)
                names = names.filter { $0.key < earlier }
                nextID = earlier
            }
            let gone = names.keys.sorted().filter { _ in generator.chance(30) }
            for id in gone {
                table.remove(id: id)
                #expect(find(names[id] ?? "", in: table) == nil)
                names[id] = nil
            }
            #expect(table.count == names.count)
            for (id, expected) in names {
                #expect(find(expected, in: table) == id)
                #expect(name(id, in: table) == expected)
                let index = table.number(ofID: id)?.index ?? .max
                #expect(index < most)
            }
        }
    }

    @Test func `ids of removed names are skipped after a restart`() {
        var table = NameTable()
        table.skipIDs(below: 7)
        _ = "a".withUTF8Bytes { table.add($0, id: 3) }
        #expect(add("b", to: &table) == 7)
        _ = "c".withUTF8Bytes { table.add($0, id: 20) }
        #expect(add("d", to: &table) == 21)
    }
}
