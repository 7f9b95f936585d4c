import Algorithms
import NotifyWire

extension RangeSet<UInt64> {
    init(_ ranges: [SequenceRange]) {
        // Sorted, so that each insertion appends.
        self.init(ranges.sorted { $0.first < $1.first }.map { $0.first..<$0.last + 1 })
    }

    /// The ranges above `position`, ascending and disjoint.
    func sequenceRanges(above position: UInt64) -> [SequenceRange] {
        guard let last = ranges.last, last.upperBound - 1 > position else { return [] }
        let first = ranges.partitioningIndex { $0.upperBound - 1 > position }
        return ranges[first...].map {
            SequenceRange(first: Swift.max($0.lowerBound, position + 1), last: $0.upperBound - 1)
        }
    }
}

extension [SequenceRange] {
    /// The same sequences in ascending, disjoint ranges.
    var coalesced: [SequenceRange] {
        count > 1 ? RangeSet(self).sequenceRanges(above: 0) : self
    }
}
