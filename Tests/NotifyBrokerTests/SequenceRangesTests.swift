@testable import NotifyBroker
import NotifyWire
import Testing

struct SequenceRangesTests {
    @Test func `ranges that touch become one`() {
        var ranges = SequenceRanges([])
        for range in [10...12, 20...22, 13...14, 30...30, 19...19, 15...18] as [ClosedRange<UInt64>] {
            ranges.insert(range.asRange)
        }
        #expect(ranges.all == [(10...22).asRange, (30...30).asRange])
        ranges.insert((1...40).asRange)
        #expect(ranges.all == [(1...40).asRange])
    }

    @Test func `what is come past goes from the front`() {
        var ranges = SequenceRanges([(3...5).asRange, (8...12).asRange])
        ranges.removeAll(through: 2)
        #expect(ranges.count == 2)
        ranges.removeAll(through: 8)
        #expect(ranges.all == [(9...12).asRange])
        ranges.removeAll(through: 12)
        #expect(ranges.count == 0)
    }

    @Test func `only what lies in a range is contained`() {
        let ranges = SequenceRanges([(3...5).asRange, (8...8).asRange])
        #expect((1...10).filter { ranges.contains($0) } == [3, 4, 5, 8])
    }

    @Test func `ranges in any order, over one another, are joined to the same sequences`() {
        let joined = SequenceRanges.joined([(8...9).asRange, (1...4).asRange, (3...6).asRange, (4...5).asRange])
        #expect(joined == [(1...6).asRange, (8...9).asRange])
        #expect(SequenceRanges.joined([(1...4).asRange]) == [(1...4).asRange])
        #expect(SequenceRanges.joined([]) == [])
    }
}

extension ClosedRange<UInt64> {
    fileprivate var asRange: SequenceRange { SequenceRange(first: lowerBound, last: upperBound) }
}
