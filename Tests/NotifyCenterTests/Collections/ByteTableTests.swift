import TestSupport
import Testing

@testable import NotifyCenter

@Suite struct ByteTableTests {
    /// A copyable wrapper of a table for `#expect`, which copies its operands.
    private final class Table {
        private var table = ByteTable()
        private let hash = KeyedHash.ofProcess

        var count: Int { table.count }
        var byteCount: Int { table.byteCount }

        func insert(_ key: [UInt8], scope: Int32 = 0, value: Int32 = 0) -> Int32 {
            key.withUnsafeBytes { table.insert($0, hash: hash($0), scope: scope, value: value) }
        }

        func find(_ key: [UInt8], scope: Int32 = 0) -> Int32? {
            key.withUnsafeBytes { table.find($0, hash: hash($0), scope: scope) }
        }

        func value(_ key: [UInt8], scope: Int32 = 0) -> Int32? {
            key.withUnsafeBytes { table.value(of: $0, hash: hash($0), scope: scope) }
        }

        func key(_ entry: Int32) -> [UInt8] { Array(table.bytes(ofEntry: entry)) }
        func remove(_ entry: Int32) { table.remove(entry: entry) }
    }

    @Test func `keys are found in their scope only`() {
        let table = Table()
        let a = table.insert([1, 2], scope: 1, value: 10)
        let b = table.insert([1, 2], scope: 2, value: 20)
        #expect(table.value([1, 2], scope: 1) == 10)
        #expect(table.find([1, 2], scope: 2) == b)
        #expect(table.find([1, 2], scope: 3) == nil)
        #expect(table.find([1], scope: 1) == nil)
        #expect(table.find([1, 2, 3], scope: 1) == nil)
        #expect(table.key(a) == [1, 2])
        table.remove(a)
        #expect(table.find([1, 2], scope: 1) == nil)
        #expect(table.value([1, 2], scope: 2) == 20)
    }

    @Test func `an empty key is a valid key`() {
        let table = Table()
        #expect(table.find([]) == nil)
        let entry = table.insert([], value: 5)
        #expect(table.value([]) == 5)
        #expect(table.key(entry).isEmpty)
        table.remove(entry)
        #expect(table.find([]) == nil)
    }

    @Test func `entry numbers have no holes if the last entries are removed first`() {
        let table = Table()
        for number in 0..<100 as Range<Int32> { #expect(table.insert([UInt8(number)]) == number) }
        for number in (40..<100 as Range<Int32>).reversed() { table.remove(number) }
        for number in 40..<100 as Range<Int32> { #expect(table.insert([UInt8(number), 0]) == number) }
    }

    @Test func `the table agrees with a dictionary and releases its memory`() {
        let seed = UInt64.random(in: 0...UInt64.max)
        print("ByteTableTests: seed \(seed)")
        var random = SeededGenerator(seed: seed)
        let table = Table()
        var entries: [[UInt8]: (entry: Int32, value: Int32)] = [:]
        var keyBytes = 0
        for step in 0..<20_000 as Range<Int32> {
            let isGrowing = step / 4_000 % 2 == 0
            if Int.random(in: 0..<10, using: &random) < (isGrowing ? 6 : 3) {
                let key = (0..<Int.random(in: 0...60, using: &random)).map { _ in
                    UInt8.random(in: 0...3, using: &random)
                }
                #expect(table.value(key) == entries[key]?.value, "seed \(seed)")
                if entries[key] == nil {
                    entries[key] = (table.insert(key, value: step), step)
                    keyBytes += key.count
                }
            } else if let (key, known) = entries.randomElement(using: &random) {
                #expect(table.key(known.entry) == key, "seed \(seed)")
                table.remove(known.entry)
                entries[key] = nil
                keyBytes -= key.count
                #expect(table.find(key) == nil, "seed \(seed)")
            }
        }
        #expect(table.count == entries.count)
        for (key, known) in entries {
            #expect(table.find(key) == known.entry, "seed \(seed)")
            #expect(table.key(known.entry) == key, "seed \(seed)")
        }
        for (_, known) in entries { table.remove(known.entry) }
        #expect(table.count == 0)
        #expect(table.byteCount <= 16 * 9)
    }

    @Test func `memory of removed keys does not accumulate`() {
        let table = Table()
        let key = [UInt8](repeating: 7, count: 100)
        _ = table.insert([0])
        for number in 0..<10_000 {
            let first = table.insert(key + [UInt8(number & 0xFF)])
            _ = table.insert(key)
            table.remove(first)
            table.remove(table.find(key) ?? -1)
        }
        #expect(table.byteCount < 4_096)
    }
}
