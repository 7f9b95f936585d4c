import NotifyWire
import Testing

@testable import NotifyBroker

@Suite struct SequenceRangesTests {
    private func ranges(_ ranges: ClosedRange<UInt64>...) -> [SequenceRange] {
        ranges.map { SequenceRange(first: $0.lowerBound, last: $0.upperBound) }
    }

    @Test func `ranges are sorted, and joined where they touch or overlap`() {
        #expect(ranges(7...9, 1...2, 3...3, 8...12, 20...20).coalesced == ranges(1...3, 7...12, 20...20))
        #expect(ranges(5...6).coalesced == ranges(5...6))
        #expect(ranges().coalesced.isEmpty)
    }

    @Test func `the sequences from the first to the last of a range are contained`() {
        let ranges = ranges(2...4, 8...8)
        #expect((0...10).filter { ranges.containsSequence($0) } == [2, 3, 4, 8])
        #expect(![].containsSequence(1))
    }

    @Test func `ranges above a position begin after it`() {
        let all = ranges(2...4, 8...8)
        #expect(all.above(0) == all)
        #expect(all.above(2) == ranges(3...4, 8...8))
        #expect(all.above(4) == ranges(8...8))
        #expect(all.above(8).isEmpty)
    }
}
