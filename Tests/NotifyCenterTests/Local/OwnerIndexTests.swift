import TestSupport
import Testing

@testable import NotifyCenter

@Suite struct OwnerIndexTests {
    @Test func `an owner's slots are found, the last first`() {
        var index = OwnerIndex()
        let (one, two) = (Thing(), Thing())
        for slot in [3, 0, 7] as [Int32] { _ = index.add(slot, to: ObjectIdentifier(one)) }
        _ = index.add(1, to: ObjectIdentifier(two))
        #expect(index.all(of: ObjectIdentifier(one)) == [7, 0, 3])
        #expect(index.first(of: ObjectIdentifier(one)) == 7)
        #expect(index.all(of: ObjectIdentifier(two)) == [1])
        #expect(index.all(of: ObjectIdentifier(OwnerIndex.self)).isEmpty)
    }

    @Test func `removing an unknown slot has no effect`() {
        var index = OwnerIndex()
        let owner = Thing()
        index.remove(0)
        index.remove(-1)
        index.removeAll(of: ObjectIdentifier(owner))
        _ = index.add(2, to: ObjectIdentifier(owner))
        index.remove(0)
        index.remove(1_000)
        #expect(index.all(of: ObjectIdentifier(owner)) == [2])
        index.remove(2)
        index.remove(2)
        #expect(index.first(of: ObjectIdentifier(owner)) == nil)
    }

    @Test func `repetitions are searched whenever the number of slots has doubled`() {
        var index = OwnerIndex()
        let owner = Thing()
        let times = (1...100).filter { index.add(Int32($0), to: ObjectIdentifier(owner)) }
        #expect(times == [8, 16, 32, 64])
    }

    @Test func `adding and removing at a constant number needs no search each time`() {
        var index = OwnerIndex()
        let owner = Thing()
        for slot in 0..<16 as Range<Int32> { _ = index.add(slot, to: ObjectIdentifier(owner)) }
        for _ in 0..<10 {
            index.remove(7)
            let isCheckDue = index.add(7, to: ObjectIdentifier(owner))
            #expect(!isCheckDue)
        }
        let times = (16..<40).filter { index.add($0, to: ObjectIdentifier(owner)) }
        #expect(times == [31])
    }

    /// Compares the index with a dictionary of arrays.
    @Test func `the index agrees with the model`() {
        let seed = UInt64.random(in: 0...UInt64.max)
        print("OwnerIndexTests: seed \(seed)")
        var random = SeededGenerator(seed: seed)
        var index = OwnerIndex()
        let owners = (0..<5).map { _ in Thing() }
        let ids = owners.map { ObjectIdentifier($0) }
        var model: [ObjectIdentifier: [Int32]] = [:]
        var owned: [Int32: ObjectIdentifier] = [:]
        for step in 0..<20_000 {
            let slot = Int32.random(in: 0..<64, using: &random)
            let id = ids[Int.random(in: 0..<ids.count, using: &random)]
            if let owner = owned[slot] {
                index.remove(slot)
                model[owner]?.removeAll { $0 == slot }
                owned[slot] = nil
            } else if Int.random(in: 0..<50, using: &random) == 0 {
                index.removeAll(of: id)
                for slot in model[id] ?? [] { owned[slot] = nil }
                model[id] = nil
            } else {
                _ = index.add(slot, to: id)
                model[id, default: []].insert(slot, at: 0)
                owned[slot] = id
            }
            for id in ids where index.all(of: id) != model[id] ?? [] {
                Issue.record("seed \(seed), step \(step): \(index.all(of: id)), not \(model[id] ?? [])")
                return
            }
        }
        withExtendedLifetime(owners) {}
    }
}
