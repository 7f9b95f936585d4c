import Testing

@testable import NotifyStore

struct OpenSegmentTests {
    @Test func `a name is listed once per segment`() {
        var segment = OpenSegment()
        for name in [5, 3, 5, 5, 900, 3] as [UInt32] { segment.insert(name) }
        #expect(segment.names == [5, 3, 900])
        #expect(segment.messages == 6)
        segment.enter(7)
        #expect(segment.number == 7)
        #expect(segment.names.isEmpty)
        segment.insert(5)
        #expect(segment.names == [5])
        #expect(segment.messages == 1)
    }

    @Test(arguments: [false, true])
    func `a rolled-back batch leaves no trace`(closesSegments: Bool) {
        var segment = OpenSegment()
        segment.enter(1)
        segment.insert(1)
        segment.begin()
        segment.insert(2)
        if closesSegments {
            segment.enter(2)
            segment.insert(1)
            segment.enter(3)
            segment.insert(3)
        }
        segment.rollBack()
        #expect(segment.number == 1)
        #expect(segment.names == [1])
        #expect(segment.messages == 1)
        // Names of the rolled-back batch must be listed when they are inserted again, in this and later segments.
        segment.begin()
        for name in [1, 2, 3] as [UInt32] { segment.insert(name) }
        segment.commit()
        #expect(segment.names == [1, 2, 3])
        for number in 2...3 as ClosedRange<UInt64> {
            segment.enter(number)
            for name in [3, 1] as [UInt32] { segment.insert(name) }
            #expect(segment.names == [3, 1])
        }
    }

    @Test func `a segment has 4,096 sequences`() {
        #expect(Segment.containing(4095) == 0)
        #expect(Segment.containing(4096) == 1)
        #expect(Segment.first(of: 1) == 4096)
        #expect(Segment.last(of: 1) == 8191)
    }
}
