import TestSupport
import Testing

@testable import NotifyCenter

@Suite struct SlotMapTests {
    private typealias Map = SlotMap<PlainSlotID, String>

    @Test func `values are found by identifier and by slot`() {
        var map = Map()
        let a = map.insert("a")
        let b = map.insert { "b in slot \($0.index)" }
        #expect(map.count == 2)
        #expect(map[a] == "a")
        #expect(map[b.index] == "b in slot 1")
        #expect(map.id(at: 1) == b)
        #expect(Array(map.indices) == [0, 1])
        #expect(Array(map.values) == ["a", "b in slot 1"])
    }

    @Test func `an identifier does not find the next value in its slot`() {
        var map = Map()
        let a = map.insert("a")
        _ = map.insert("b")
        #expect(map.remove(a) == "a")
        #expect(map.remove(a) == nil)
        let c = map.insert("c")
        #expect(c.index == a.index)
        #expect(c != a)
        #expect(!map.contains(a))
        #expect(map[a] == nil)
        #expect(map.remove(a) == nil)
        #expect(map[c] == "c")
    }

    @Test func `an identifier of a removed value finds nothing after the map was empty`() {
        var map = Map()
        let a = map.insert("a")
        map.remove(a)
        #expect(map.isEmpty)
        #expect(!map.contains(a))
        let b = map.insert("b")
        #expect(b.index == a.index)
        #expect(!map.contains(a))
        map.removeAll()
        let c = map.insert("c")
        #expect(c.index == b.index)
        #expect(!map.contains(b))
    }

    @Test func `slots without a value are vacant`() {
        var map = Map()
        #expect(!map.isUsed(0))
        #expect(!map.isUsed(-1))
        #expect(map.value(at: .max) == nil)
        #expect(!map.contains(PlainSlotID(index: -1, generation: 0)))
        #expect(!map.contains(PlainSlotID(index: 7, generation: 0)))
        let a = map.insert("a")
        _ = map.insert("b")
        map.remove(at: a.index)
        #expect(!map.isUsed(0))
        #expect(map.value(at: 0) == nil)
        #expect(map.id(at: 0) == nil)
        #expect(map.remove(at: 0) == nil)
        #expect(Array(map.indices) == [1])
    }

    @Test func `nextID is the identifier of the next insertion`() {
        var map = Map()
        for _ in 0..<3 {
            let next = map.nextID
            #expect(map.insert("x") == next)
        }
        map.remove(at: 1)
        let next = map.nextID
        #expect(next.index == 1)
        #expect(map.insert("y") == next)
    }

    @Test func `values are modified in place`() {
        var map = SlotMap<PlainSlotID, [Int]>()
        let id = map.insert(Array(0..<1_000))
        let before = map[id.index].withUnsafeBufferPointer { $0.baseAddress }
        map[id.index][17] = -1
        #expect(map[id.index].withUnsafeBufferPointer { $0.baseAddress } == before)
        #expect(map[id]?[17] == -1)
    }

    @Test func `removed values are released`() {
        final class Marker {}
        var map = SlotMap<PlainSlotID, Marker>()
        weak var released: Marker?
        let kept = map.insert(Marker())
        let id = {
            let marker = Marker()
            released = marker
            return map.insert(marker)
        }()
        #expect(released != nil)
        map.remove(id)
        #expect(released == nil)
        #expect(map.contains(kept))
    }

    @Test func `the map agrees with a dictionary`() {
        let seed = UInt64.random(in: 0...UInt64.max)
        print("SlotMapTests: seed \(seed)")
        var random = SeededGenerator(seed: seed)
        var map = SlotMap<PlainSlotID, Int>()
        var values: [PlainSlotID: Int] = [:]
        var removed: [PlainSlotID] = []
        for step in 0..<10_000 {
            let isGrowing = step / 1_000 % 2 == 0
            if Int.random(in: 0..<10, using: &random) < (isGrowing ? 7 : 3) {
                let id = map.insert(step)
                #expect(values[id] == nil && !removed.contains(id), "seed \(seed)")
                values[id] = step
            } else if let (id, value) = values.randomElement(using: &random) {
                #expect(map.remove(id) == value, "seed \(seed)")
                values[id] = nil
                if removed.count < 100 { removed.append(id) }
            }
            #expect(map.count == values.count)
        }
        for (id, value) in values { #expect(map[id] == value, "seed \(seed)") }
        #expect(removed.allSatisfy { !map.contains($0) })
        #expect(map.values.sorted() == values.values.sorted())
    }
}
