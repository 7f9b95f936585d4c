import NotifyLog
import NotifyWire
import Testing

@testable import NotifyBroker

/// A cursor that several members share.
struct CursorTests {
    private let one = MemberID(rawValue: 1)
    private let two = MemberID(rawValue: 2)

    private func range(_ range: ClosedRange<UInt64>) -> [SequenceRange] {
        [SequenceRange(first: range.lowerBound, last: range.upperBound)]
    }

    @Test func `an acknowledgement does not affect messages of other members`() {
        var cursor = Cursor(DurableProgress(cursor: 0, seenThrough: 0))
        for sequence in 1...6 as ClosedRange<UInt64> {
            let wasTaken = cursor.take(
                sequence, bytes: 100, member: sequence.isMultiple(of: 2) ? two : one, at: CoarseTime(.zero))
            #expect(wasTaken)
        }
        #expect(cursor.acknowledged(range(0...6), member: two) == 3)
        #expect(cursor.position == 0)
        #expect(cursor.progress(isAttached: true).acknowledged.map(\.first) == [2, 4, 6])
        #expect(cursor.acknowledged(range(0...3), member: one) == 2)
        #expect(cursor.position == 4)
        #expect(cursor.acknowledged(range(0...3), member: one) == 0, "twice")
        #expect(cursor.acknowledged(range(5...5), member: one) == 1)
        #expect(cursor.position == 6)
    }

    @Test func `the progress of a cursor has the cursor's generation`() {
        let cursor = Cursor(DurableProgress(cursor: 3, seenThrough: 3, generation: 5))
        #expect(cursor.progress(isAttached: false).generation == 5)
    }
}
