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

    @Test func `an earlier slot of the same owner and place is found`() {
        var index = OwnerIndex()
        let (one, two) = (Thing(), Thing())
        let slots: [(Int32, Thing, Int?)] = [
            (0, one, 5), (1, one, 6), (2, two, 5), (3, one, nil), (4, one, nil), (5, one, 5), (6, two, 5),
        ]
        let earlier = slots.map { slot, owner, place in index.add(slot, to: ObjectIdentifier(owner), place: place) }
        #expect(earlier == [nil, nil, nil, nil, nil, 0, 2])
    }

    @Test func `removed slots, and slots of a reported repetition, are not found`() {
        var index = OwnerIndex()
        let thing = Thing()
        let owner = ObjectIdentifier(thing)
        func add(_ slot: Int32, at place: Int) -> Int32? { index.add(slot, to: owner, place: place) }
        _ = add(0, at: 5)
        index.remove(0)
        #expect(add(1, at: 5) == nil)
        #expect(add(2, at: 6) == nil)
        index.remove(1)
        #expect(add(3, at: 5) == nil)
        #expect(add(4, at: 5) == 3)
        let marks = [index.markReported(5, of: owner), index.markReported(5, of: owner)]
        #expect(marks == [true, false])
        #expect(add(5, at: 5) == nil)
        #expect(add(6, at: 6) == 2)
        index.removeAll(of: owner)
        #expect(add(7, at: 6) == nil)
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
