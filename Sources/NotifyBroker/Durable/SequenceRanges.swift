import DequeModule
import NotifyWire

/// Ranges of sequences, rising and apart, that go from the front as a reader comes past them.
struct SequenceRanges {
    private var ranges: Deque<SequenceRange>

    /// `ranges` must rise and be apart.
    init(_ ranges: [SequenceRange]) {
        self.ranges = Deque(ranges)
    }

    var count: Int { ranges.count }
    var all: [SequenceRange] { Array(ranges) }

    func contains(_ sequence: UInt64) -> Bool {
        let index = ranges.partitioningIndex { $0.last >= sequence }
        return index < ranges.count && ranges[index].first <= sequence
    }

    /// Joins a range to those it touches.
    mutating func insert(_ range: SequenceRange) {
        let first = ranges.partitioningIndex { $0.last >= range.first - 1 }
        let end = ranges.partitioningIndex { $0.first > range.last + 1 }
        guard first < end else {
            ranges.insert(range, at: first)
            return
        }
        let joined = SequenceRange(
            first: min(range.first, ranges[first].first), last: max(range.last, ranges[end - 1].last))
        ranges.replaceSubrange(first..<end, with: CollectionOfOne(joined))
    }

    mutating func removeAll(through sequence: UInt64) {
        while let oldest = ranges.first, oldest.first <= sequence {
            if oldest.last > sequence {
                ranges[0].first = sequence + 1
            } else {
                ranges.removeFirst()
            }
        }
    }

    /// The same sequences in ranges that rise and do not overlap, so that none is gone through twice.
    static func joined(_ ranges: [SequenceRange]) -> [SequenceRange] {
        guard ranges.count > 1 else { return ranges }
        var joined: [SequenceRange] = []
        for range in ranges.sorted(by: { $0.first < $1.first }) {
            if let last = joined.last, range.first <= last.last {
                joined[joined.count - 1].last = max(last.last, range.last)
            } else {
                joined.append(range)
            }
        }
        return joined
    }
}
