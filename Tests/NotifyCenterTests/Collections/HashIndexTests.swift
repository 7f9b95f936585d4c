import TestSupport
import Testing

@testable import NotifyCenter

@Suite struct HashIndexTests {
    /// Compares random operations with a dictionary. `bits` masks the hashes, so that they are often equal, often have
    /// equal positions, or rarely collide.
    @Test(arguments: [UInt32(3), 0xFF, 0xFF00_0000, .max])
    func `the index agrees with a dictionary`(bits: UInt32) {
        let seed = UInt64.random(in: 0...UInt64.max)
        print("HashIndexTests: seed \(seed)")
        var random = SeededGenerator(seed: seed)
        var index = HashIndex()
        var hashes: [Int32: UInt32] = [:]
        for step in 0..<20_000 as Range<Int32> {
            let isGrowing = step / 4_000 % 2 == 0
            if Int.random(in: 0..<10, using: &random) < (isGrowing ? 6 : 3) {
                let hash = UInt32(truncatingIfNeeded: random.next()) & bits
                index.insert(step, hash: hash)
                hashes[step] = hash
            } else if let (number, hash) = hashes.randomElement(using: &random) {
                #expect(index.find(hash) { $0 == number } == number, "seed \(seed)")
                index.remove(number, hash: hash)
                hashes[number] = nil
                #expect(index.find(hash) { $0 == number } == nil, "seed \(seed)")
            }
            if index.count != hashes.count { return #expect(index.count == hashes.count, "seed \(seed)") }
            if bits == 3 && hashes.count > 200 {
                hashes.keys.prefix(150).forEach { number in
                    index.remove(number, hash: hashes.removeValue(forKey: number) ?? 0)
                }
            }
        }
        for (number, hash) in hashes { #expect(index.find(hash) { $0 == number } == number, "seed \(seed)") }
        for (number, hash) in hashes { index.remove(number, hash: hash) }
        #expect(index.count == 0)
        #expect(index.byteCount <= 16 * 9)
    }

    @Test func `all entries with the same hash are compared`() {
        var index = HashIndex()
        for number in 0..<10 as Range<Int32> { index.insert(number, hash: 7) }
        var offered: Set<Int32> = []
        #expect(index.find(7) { offered.insert($0).inserted && false } == nil)
        #expect(offered == Set(0..<10))
        #expect(index.find(8) { _ in true } == nil)
    }

    @Test func `an empty table finds nothing and uses no memory`() {
        var index = HashIndex()
        #expect(index.find(0) { _ in true } == nil)
        #expect(index.byteCount == 0)
        index.insert(0, hash: 0)
        #expect(index.find(0) { _ in true } == 0)
        index.removeAll()
        #expect(index.find(0) { _ in true } == nil)
        #expect(index.byteCount == 0)
    }
}
