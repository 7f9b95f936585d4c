import Algorithms
import NotifyWire

extension [SequenceRange] {
    /// The same sequences as ascending and disjoint ranges. The other functions of this file need such ranges.
    var coalesced: [SequenceRange] {
        guard count > 1 else { return self }
        // The ranges are sorted first, so that each insertion appends.
        let set = RangeSet(sorted { $0.first < $1.first }.map { $0.first..<$0.last + 1 })
        return set.ranges.map { SequenceRange(first: $0.lowerBound, last: $0.upperBound - 1) }
    }

    func containsSequence(_ sequence: UInt64) -> Bool {
        let index = partitioningIndex { $0.last >= sequence }
        return index < count && self[index].first <= sequence
    }

    /// The sequences above `position`.
    func above(_ position: UInt64) -> [SequenceRange] {
        guard let last, last.last > position else { return [] }
        return self[partitioningIndex { $0.last > position }...].map {
            SequenceRange(first: Swift.max($0.first, position + 1), last: $0.last)
        }
    }
}
