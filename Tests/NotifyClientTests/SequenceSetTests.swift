import NotifyWire
import TestSupport
import Testing

@testable import NotifyClient

@Suite struct SequenceSetTests {
    private func set(_ sequences: UInt64...) -> SequenceSet {
        var set = SequenceSet()
        for sequence in sequences { set.insert(sequence) }
        return set
    }

    private func ranges(_ set: SequenceSet) -> [ClosedRange<UInt64>] { set.ranges.map { $0.first...$0.last } }

    @Test func `sequences inserted in any order form ranges of consecutive sequences`() {
        #expect(ranges(set(1, 2, 3)) == [1...3])
        #expect(ranges(set(3, 2, 1)) == [1...3])
        #expect(ranges(set(1, 3, 2)) == [1...3])
        #expect(ranges(set(1, 3, 5)) == [1...1, 3...3, 5...5])
        #expect(ranges(set(5, 1, 3, 3)) == [1...1, 3...3, 5...5])
    }

    @Test func `a range is joined with all ranges that it overlaps or touches`() {
        var all = set(1, 3, 5, 9)
        all.insert(SequenceRange(first: 2, last: 6))
        #expect(ranges(all) == [1...6, 9...9])
        all.insert(SequenceRange(first: 0, last: 20))
        #expect(ranges(all) == [0...20])
    }

    @Test func `the lowest and the highest sequence do not overflow`() {
        var all = set(.max, 0)
        all.insert(SequenceRange(first: 1, last: .max - 1))
        #expect(ranges(all) == [0...UInt64.max])
    }

    @Test func `removing a sequence shortens or splits its range`() {
        var all = set(1, 2, 3, 7, 9)
        all.remove(2)
        #expect(ranges(all) == [1...1, 3...3, 7...7, 9...9])
        all.keepHighest(2)
        all.remove(8)
        #expect(ranges(all) == [7...7, 9...9])
        all.remove(9)
        all.remove(7)
        #expect(all.isEmpty)
    }

    @Test func `random insertions and removals agree with a set of numbers`() {
        let seed = UInt64.random(in: .min ... .max)
        print("SequenceSetTests seed \(seed)")
        var random = SeededGenerator(seed: seed)
        var (all, model): (SequenceSet, Set<UInt64>) = (SequenceSet(), [])
        for _ in 0..<5_000 {
            let first = UInt64.random(in: 1...300, using: &random)
            if Bool.random(using: &random) {
                all.remove(first)
                model.remove(first)
            } else {
                let last = first + UInt64.random(in: 0...3, using: &random)
                all.insert(SequenceRange(first: first, last: last))
                model.formUnion(first...last)
            }
            #expect(ranges(all).flatMap { Array($0) } == model.sorted())
            #expect(zip(all.ranges, all.ranges.dropFirst()).allSatisfy { $0.last + 1 < $1.first })
            #expect(all.contains(first) == model.contains(first))
        }
    }
}
