import TestSupport
import Testing

@testable import NotifyStore

struct NameTableTests {
    private func add(_ name: String, to table: inout NameTable) -> UInt32 {
        Array(name.utf8).withUnsafeBytes { table.add($0) }
    }

    private func find(_ name: String, in table: borrowing NameTable) -> UInt32? {
        Array(name.utf8).withUnsafeBytes { table.find($0) }
    }

    @Test func `ids count from 1 and map back to the bytes`() {
        var table = NameTable()
        for number in 1...10_000 as ClosedRange<UInt32> { #expect(add("name.\(number)", to: &table) == number) }
        for number in 1...10_000 as ClosedRange<UInt32> {
            #expect(find("name.\(number)", in: table) == number)
            let name = table.withBytes(of: number) { String(decoding: $0, as: UTF8.self) }
            #expect(name == "name.\(number)")
        }
        #expect(find("name.0", in: table) == nil)
        #expect(find("name.1000", in: table) == 1000)
        let known = [0, 1, 10_000, 10_001].map { table.contains(id: $0) }
        #expect(known == [false, true, true, false])
    }

    @Test func `a name uses its bytes and a bounded overhead`() {
        var table = NameTable()
        for number in 0..<1 << 17 as Range<UInt32> { _ = add("name.of.24.bytes.\(1_000_000 + number)", to: &table) }
        // Up to half of the storage may be unused, because the storage grows by doubling.
        let bytesEach = table.byteCount / table.count
        #expect(bytesEach >= 24 + 24)
        #expect(bytesEach <= 2 * (24 + 24 + 12))
    }

    @Test func `removed names are not found, and others stay`() {
        let seed = UInt64.random(in: 0 ... .max)
        print("seed \(seed)")
        var generator = SeededGenerator(seed: seed)
        var table = NameTable()
        var names: [String] = []
        for round in 0..<200 {
            for number in 0..<Int.random(in: 0...60, using: &generator) {
                names.append("\(round).\(number)")
                #expect(add("\(round).\(number)", to: &table) == UInt32(names.count))
            }
            let kept = Int.random(in: names.count * 3 / 4...names.count, using: &generator)
            let gone = names[kept...]
            names.removeSubrange(kept...)
            table.truncate(to: kept)
            for name in gone { #expect(find(name, in: table) == nil) }
            #expect(names.indices.allSatisfy { find(names[$0], in: table) == UInt32($0 + 1) })
        }
    }
}
