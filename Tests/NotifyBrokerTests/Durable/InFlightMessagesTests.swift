import NotifyLog
import NotifyWire
import Testing

@testable import NotifyBroker

struct InFlightMessagesTests {
    private let one = MemberID(rawValue: 1)
    private let two = MemberID(rawValue: 2)

    private func acknowledge(
        _ range: ClosedRange<UInt64>, _ member: MemberID, _ messages: inout InFlightMessages
    ) -> Int {
        messages.acknowledge(SequenceRange(first: range.lowerBound, last: range.upperBound), member: member)
    }

    @Test func `an acknowledgement counts once and for its member only`() {
        var messages = InFlightMessages()
        for sequence in [10, 20, 30] as [UInt64] {
            messages.append(sequence, member: one, bytes: 100, at: CoarseTime(.zero))
        }
        messages.append(40, member: two, bytes: 100, at: CoarseTime(.zero))
        let counts = [
            acknowledge(0...9, one, &messages), acknowledge(20...45, one, &messages),
            acknowledge(0...30, one, &messages),
            acknowledge(0...100, two, &messages), acknowledge(50...60, two, &messages),
        ]
        #expect(counts == [0, 2, 1, 1, 0])
    }

    @Test func `messages added together equal messages added one by one`() {
        var (together, single) = (InFlightMessages(), InFlightMessages())
        let entries = [10, 20, 30].map { LogBlock.Entry(sequence: $0, offset: 0, length: UInt32($0)) }
        together.append(entries[...], member: one, bytes: 60, at: CoarseTime(.seconds(1)))
        for entry in entries {
            single.append(entry.sequence, member: one, bytes: entry.length, at: CoarseTime(.seconds(1)))
        }
        while let expected = single.takeOldest() { #expect(together.takeOldest() == expected) }
        #expect(together.takeOldest() == nil && together.bytes == single.bytes)
    }

    @Test func `acknowledged messages are removed up to the oldest one of another member`() {
        var messages = InFlightMessages()
        for (sequence, member) in [(10, one), (20, one), (30, two), (40, one)] as [(UInt64, MemberID)] {
            messages.append(sequence, member: member, bytes: 100, at: CoarseTime(.zero))
        }
        #expect(acknowledge(0...40, one, &messages) == 3)
        #expect(messages.oldest == 30 && messages.count == 2 && messages.bytes == 200)
        #expect(messages.work == 4, "each is visited once")
        #expect(acknowledge(30...30, two, &messages) == 1)
        messages.removeAcknowledged()
        #expect(messages.isEmpty && messages.bytes == 0)
    }

    @Test func `only acknowledged messages at the front are removed`() {
        var messages = InFlightMessages()
        for sequence in 1...5 as ClosedRange<UInt64> {
            messages.append(sequence, member: one, bytes: 100, at: CoarseTime(.zero))
        }
        _ = acknowledge(1...2, one, &messages)
        _ = acknowledge(4...4, one, &messages)
        messages.removeAcknowledged()
        #expect(messages.oldest == 3 && messages.count == 3)
        #expect(messages.acknowledgedRanges == [SequenceRange(first: 4, last: 4)])
        _ = acknowledge(3...3, one, &messages)
        messages.removeAcknowledged()
        #expect(messages.oldest == 5)
        _ = acknowledge(5...5, one, &messages)
        messages.removeAcknowledged()
        #expect(messages.isEmpty && messages.oldest == nil)
    }

    @Test func `ranges contain acknowledged messages only`() {
        var messages = InFlightMessages()
        messages.append(10, member: one, bytes: 100, at: CoarseTime(.zero))
        messages.appendAcknowledged(20, member: one, at: CoarseTime(.zero))
        messages.appendAcknowledged(21, member: two, at: CoarseTime(.zero))
        messages.appendAcknowledged(23, member: two, at: CoarseTime(.zero))
        messages.append(24, member: two, bytes: 100, at: CoarseTime(.zero))
        messages.appendAcknowledged(25, member: two, at: CoarseTime(.zero))
        let ranges = messages.acknowledgedRanges
        #expect(ranges.map(\.first) == [20, 23, 25])
        #expect(ranges.map(\.last) == [21, 23, 25])
    }
}
