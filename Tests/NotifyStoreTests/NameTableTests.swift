import TestSupport
import Testing

@testable import NotifyStore

struct NameTableTests {
    private func add(_ name: String, to table: inout NameTable) -> UInt32 {
        Array(name.utf8).withUnsafeBytes { table.add($0) }
    }

    private func find(_ name: String, in table: NameTable) -> UInt32? {
        Array(name.utf8).withUnsafeBytes { table.find($0) }
    }

    @Test func idsCountFromOneAndLeadBackToTheBytes() {
        var table = NameTable()
        for number in 1...10_000 as ClosedRange<UInt32> { #expect(add("name.\(number)", to: &table) == number) }
        for number in 1...10_000 as ClosedRange<UInt32> {
            #expect(find("name.\(number)", in: table) == number)
            #expect(table.withBytes(of: number) { String(decoding: $0, as: UTF8.self) } == "name.\(number)")
        }
        #expect(find("name.0", in: table) == nil)
        #expect(find("name.1000", in: table) == 1000)
        #expect(!table.contains(id: 0))
        #expect(table.contains(id: 10_000))
        #expect(!table.contains(id: 10_001))
    }

    @Test func namesTakenBackAreGoneAndTheOthersStay() {
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
