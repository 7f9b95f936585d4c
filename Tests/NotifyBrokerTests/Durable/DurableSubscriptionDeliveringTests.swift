import NotifyLog
import NotifyWire
import TestSupport
import Testing

@testable import NotifyBroker

/// First deliveries of several messages at once.
struct DurableSubscriptionDeliveringTests {
    /// Messages of 100 bytes.
    private func entries(_ sequences: some Sequence<UInt64>) -> [LogBlock.Entry] {
        sequences.map { LogBlock.Entry(sequence: $0, offset: 0, length: 100) }
    }

    private func take(_ sequences: ClosedRange<UInt64>, _ durable: inout DurableSubscription) -> Int {
        guard let member = durable.candidate() else { return 0 }
        return durable.take(entries(sequences)[...], for: member, at: CoarseTime(.zero))
    }

    @Test func `messages are taken together as far as there is room`() {
        var durable = DurableSubscription.attachedForTest(window: 5, credit: 4)
        #expect(take(11...13, &durable) == 3)
        #expect(durable.room == 1 && durable.progress.seenThrough == 13 && durable._cursor.inFlight.bytes == 300)
        #expect(take(14...20, &durable) == 1)
        #expect(durable.room == 0 && durable._cursor.passedThrough == 14)
    }

    @Test func `redeliveries are not taken together with first deliveries`() {
        var durable = DurableSubscription.attachedForTest(seenThrough: 12)
        #expect(take(11...13, &durable) == 0)
        #expect(!durable.hasFirstDeliveries && durable.room == 4)
        #expect(take(11...12, &durable) == 2)
        #expect(take(13...14, &durable) == 2)
    }

    @Test func `messages that may have to be skipped are not taken together`() {
        var acknowledged = DurableSubscription.attachedForTest(acknowledged: [SequenceRange(first: 12, last: 12)])
        #expect(take(11...13, &acknowledged) == 0)
        var released = DurableSubscription.attachedForTest()
        released.released(through: 11, generation: released.cursorGeneration)
        #expect(take(11...13, &released) == 0)
        #expect(take(12...13, &released) == 2)
    }

    @Test func `messages for whose copies there might be no room are not taken together`() {
        var durable = DurableSubscription.attachedForTest()
        durable.maximumCopyBytes = 300
        #expect(take(11...13, &durable) == 0)
        #expect(take(11...12, &durable) == 2)
    }

    @Test func `a member of a group gets as many messages as its turn allows`() {
        var durable = DurableSubscription.attachedForTest(window: 1_000)
        let second = NotifyBroker.Attachment.test(window: 1_000, number: 2)
        _ = durable.attached(second, credit: Subscribe.unlimitedCredit)
        _ = durable.attachmentCommitted(second)
        var sequence: UInt64 = 11
        var counts: [Int] = []
        while counts.count < 20 {
            counts.append(take(sequence...sequence + 99, &durable))
            sequence += UInt64(counts.last ?? 0)
        }
        #expect(counts.min() == 1 && counts.max() == 32)
        #expect(durable._members.all.map(\.unacknowledged).reduce(0, +) == Int(sequence - 11))
    }

    @Test(arguments: 0..<200)
    func `messages taken together have the same deliveries as messages taken one by one`(_ seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let acknowledged =
            Bool.random(using: &random) ? [] : [SequenceRange(first: 14, last: .random(in: 14...20, using: &random))]
        var together = DurableSubscription.attachedForTest(
            seenThrough: .random(in: 10...20, using: &random), acknowledged: acknowledged,
            window: .random(in: 1...40, using: &random), credit: .random(in: 1...40, using: &random))
        together.maximumCopyBytes = .random(in: 100...4_000, using: &random)
        var single = together
        var sequence: UInt64 = 11
        while sequence < 60 {
            let count = UInt64.random(in: 1...10, using: &random)
            let messages = entries(sequence..<sequence + count)
            let delivered = deliver(messages, &together, isTogether: true)
            #expect(delivered == deliver(messages, &single, isTogether: false), "seed \(seed)")
            if let last = delivered.last, Bool.random(using: &random) {
                let range = SequenceRange(first: .random(in: 1...last, using: &random), last: last)
                try together.acknowledged([range])
                try single.acknowledged([range])
            }
            #expect(together.progress == single.progress && together.room == single.room, "seed \(seed)")
            #expect(together._cursor.inFlight.bytes == single._cursor.inFlight.bytes, "seed \(seed)")
            sequence += count
        }
    }

    /// Delivers messages as long as there is room, and returns their sequences.
    private func deliver(
        _ entries: [LogBlock.Entry], _ durable: inout DurableSubscription, isTogether: Bool
    ) -> [UInt64] {
        var rest = entries[...]
        var delivered: [UInt64] = []
        while let first = rest.first, durable.room > 0, let member = durable.candidate() {
            let count = isTogether ? durable.take(rest, for: member, at: CoarseTime(.zero)) : 0
            delivered += rest.prefix(count).map(\.sequence)
            if count == 0, durable.take(first.sequence) { delivered.append(first.sequence) }
            rest = rest.dropFirst(max(1, count))
        }
        return delivered
    }
}
