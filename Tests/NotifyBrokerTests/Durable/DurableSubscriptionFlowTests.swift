@testable import NotifyBroker
import NotifyLog
import NotifyWire
import Testing

/// Delivery, acknowledgement and redelivery.
struct DurableSubscriptionFlowTests {
    private func ranges(_ ranges: ClosedRange<UInt64>...) -> [SequenceRange] {
        ranges.map { SequenceRange(first: $0.lowerBound, last: $0.upperBound) }
    }

    // MARK: Window and credit

    @Test(arguments: [1, 2, 5])
    func `the window bounds messages in flight`(_ window: Int) throws {
        var durable = DurableSubscription.attachedForTest(window: window)
        for index in 0..<window {
            #expect(durable.room == window - index)
            #expect(durable.take(UInt64(11 + index)) == true)
        }
        #expect(durable.room == 0)
        try durable.acknowledged(ranges(11...11))
        #expect(durable.room == 1)
    }

    @Test func `deliveries use up credit, and acknowledging adds none`() throws {
        var durable = DurableSubscription.attachedForTest(credit: 2)
        #expect(durable.room == 2)
        #expect(durable.take(11) == true)
        #expect(durable.take(12) == true)
        try durable.acknowledged(ranges(11...12))
        #expect(durable.room == 0)
        durable.creditAdded(1)
        #expect(durable.room == 1)
        // Credit whose sum exceeds `UInt32.max` becomes unlimited, so only the window limits the room.
        durable.creditAdded(.max)
        #expect(durable.room == 4, "credit that exceeds the counter does not limit")
        #expect(durable.take(13) == true)
        #expect(durable.room == 3)
        durable.creditAdded(5)
        #expect(durable.room == 3)
    }

    @Test func `there is no room without credit`() {
        let durable = DurableSubscription.attachedForTest(credit: 0)
        #expect(durable.room == 0)
    }

    @Test func `acknowledgements after an unacknowledged message are bounded`() throws {
        var durable = DurableSubscription.attachedForTest(window: 2)
        #expect(durable.take(11) == true)
        for sequence in 12...40 as ClosedRange<UInt64> {
            #expect(durable._cursor.inFlight.count < 16, "the limit is eight windows")
            #expect(durable.take(sequence) == true)
            try durable.acknowledged(ranges(sequence...sequence))
        }
        #expect(durable.position == 40 && durable._redeliveries.inFlightCount == 1)
        #expect(durable.room == 1, "the first message is still in flight")
        try durable.acknowledged(ranges(11...11))
        #expect(durable.room == 2 && durable.redeliveryCount == 0)
        #expect(durable.progress.cursor == 40)
    }

    @Test func `acknowledged ranges are bounded in a large window`() throws {
        let window = Int(Limits.maximumWindow)
        var durable = DurableSubscription.attachedForTest(window: window)
        #expect(durable.take(11) == true)
        var sequence: UInt64 = 13
        var mostRanges = 0
        while durable.redeliveryCount == 0, sequence < 1_000_000 {
            #expect(durable.take(sequence) == true)
            // Rarely, because each evaluation of `progress` copies the ranges.
            if sequence % 1024 == 1 { mostRanges = max(mostRanges, durable.progress.acknowledged.count) }
            try durable.acknowledged(ranges(sequence...sequence))
            sequence += 2
        }
        #expect(durable.progress.acknowledged.isEmpty && mostRanges < window + 8_192)
    }

    // MARK: Acknowledgements

    @Test func `the cursor follows messages acknowledged in order`() throws {
        var durable = DurableSubscription.attachedForTest(window: 10)
        for sequence in [12, 15, 18, 20] as [UInt64] { #expect(durable.take(sequence) == true) }
        #expect(durable.progress.cursor == 11, "messages before the first match are skipped")
        try durable.acknowledged(ranges(15...15))
        #expect(durable.progress.cursor == 11)
        #expect(durable.progress.acknowledged == ranges(15...15))
        try durable.acknowledged(ranges(20...20))
        #expect(durable.progress.acknowledged == ranges(15...15, 20...20))
        try durable.acknowledged(ranges(18...18))
        // The ranges are not merged: after an edit, 16 may match.
        #expect(durable.progress.acknowledged == ranges(15...15, 18...18, 20...20))
        try durable.acknowledged(ranges(12...12))
        #expect(durable.progress.cursor == 20)
        #expect(durable.progress.acknowledged == [])
    }

    @Test func `duplicate, overlapping and unordered ranges count once`() throws {
        var durable = DurableSubscription.attachedForTest(window: 4)
        for sequence in 11...14 as ClosedRange<UInt64> { #expect(durable.take(sequence) == true) }
        try durable.acknowledged(ranges(13...14, 12...13, 14...14, 13...13))
        #expect(durable.room == 3)
        try durable.acknowledged(ranges(0...14, 0...0))
        #expect(durable.room == 4)
        #expect(durable.progress.cursor == 14)
        try durable.acknowledged(ranges(11...14))
        #expect(durable.room == 4)
    }

    @Test func `ranges that end after the last delivered message are refused as a whole`() throws {
        var durable = DurableSubscription.attachedForTest()
        #expect(durable.take(11) == true)
        #expect(durable.take(15) == true)
        let before = durable.progress
        let error = #expect(throws: WireError.self) { try durable.acknowledged(ranges(11...11, 15...16)) }
        #expect(error?.code == .notDelivered)
        #expect(durable.progress == before)
        try durable.acknowledged(ranges(11...15))
        #expect(durable.progress.cursor == 15)
    }

    @Test func `an empty acknowledgement has no effect`() throws {
        var durable = DurableSubscription.attachedForTest()
        #expect(durable.take(11) == true)
        try durable.acknowledged([])
        #expect(durable.room == 3)
    }

    // MARK: Redelivery

    @Test func `unacknowledged messages are redelivered and marked`() throws {
        var durable = DurableSubscription.attachedForTest()
        for sequence in 11...13 as ClosedRange<UInt64> {
            #expect(!durable.isRedelivery(sequence))
            #expect(durable.take(sequence) == true)
        }
        try durable.acknowledged(ranges(12...12))
        durable.detached()
        #expect(durable.progress == DurableProgress(cursor: 10, seenThrough: 13, acknowledged: ranges(12...12)))
        durable.attachForTest()
        #expect(durable._cursor.passedThrough == 10)
        #expect(durable.isRedelivery(11) && durable.isRedelivery(13) && !durable.isRedelivery(14))
        #expect(durable.take(11) == true)
        #expect(durable.take(12) == false, "acknowledged in the last attachment")
        #expect(durable.take(13) == true)
        #expect(durable.take(14) == true)
        try durable.acknowledged(ranges(11...14))
        #expect(durable.progress == DurableProgress(cursor: 14, seenThrough: 14, isAttached: true))
    }

    @Test func `an acknowledgement affects delivered messages only`() throws {
        var durable = DurableSubscription.attachedForTest(seenThrough: 30)
        #expect(durable.take(12) == true)
        #expect(durable.take(26) == true)
        try durable.acknowledged(ranges(13...26))
        #expect(durable.progress.acknowledged == ranges(26...26), "no message in between was delivered")
        #expect(durable.progress.cursor == 11)
        durable.detached()
        durable.attachForTest()
        #expect(durable.take(12) == true)
        #expect(durable.take(16) == true, "message 16 was not delivered, so it was not acknowledged")
        #expect(durable.take(26) == false)
        try durable.acknowledged(ranges(0...16))
        #expect(durable.progress.cursor == 26)
    }

    @Test func `messages of an earlier attachment can't be acknowledged`() throws {
        var durable = DurableSubscription.attachedForTest()
        for sequence in 11...13 as ClosedRange<UInt64> { #expect(durable.take(sequence) == true) }
        durable.detached()
        durable.attachForTest()
        let error = #expect(throws: WireError.self) { try durable.acknowledged(ranges(11...11)) }
        #expect(error?.code == .notDelivered)
        #expect(durable.take(11) == true)
        try durable.acknowledged(ranges(11...11))
        #expect(durable.progress.cursor == 11)
    }

    /// The log refuses a batch with ranges out of order, so a mistake here would fail every commit of the progress.
    @Test func `persisted ranges are ascending, disjoint and above the cursor`() throws {
        for isFirstOpen in [false, true] {
            var durable = DurableSubscription.attachedForTest(
                seenThrough: 100, acknowledged: ranges(15...60, 70...100), window: 10)
            if isFirstOpen { #expect(durable.take(11) == true) }
            for sequence in [20, 30, 60, 65, 80] as [UInt64] {
                _ = durable.take(sequence)
                expectOrdered(durable.progress)
            }
            try durable.acknowledged(ranges(65...65))
            expectOrdered(durable.progress)
            durable.passed(through: 90)
            expectOrdered(durable.progress)
            durable.detached()
            expectOrdered(durable.progress)
            durable.attachForTest()
            if isFirstOpen { #expect(durable.take(20) == false, "message 20 is still known to be acknowledged") }
            #expect(durable.take(95) == false)
            expectOrdered(durable.progress)
        }
    }

    private func expectOrdered(_ progress: DurableProgress, sourceLocation: SourceLocation = #_sourceLocation) {
        var last = progress.cursor
        for range in progress.acknowledged {
            #expect(range.first > last && range.last >= range.first, "\(progress)", sourceLocation: sourceLocation)
            last = range.last
        }
    }

    /// An earlier attachment with a larger window may leave more acknowledged ranges than the current attachment may
    /// add. Messages delivered to the current attachment can be acknowledged nevertheless.
    @Test func `ranges of an earlier attachment do not block the next one`() throws {
        let left = (1...2000).map { SequenceRange(first: UInt64($0) * 2 + 11, last: UInt64($0) * 2 + 11) }
        var durable = DurableSubscription.attachedForTest(seenThrough: 10_000, acknowledged: left, window: 4)
        for sequence in [12, 14, 16, 18] as [UInt64] { #expect(durable.take(sequence) == true) }
        #expect(durable.room == 0)
        try durable.acknowledged(ranges(12...18))
        #expect(durable.room == 4)
    }

    // MARK: Idle

    @Test func `the cursor passes messages that do not match`() throws {
        var durable = DurableSubscription.attachedForTest()
        durable.passed(through: 50)
        #expect(durable.progress.cursor == 50)
        #expect(durable._cursor.passedThrough == 50)
        durable.passed(through: 40)
        #expect(durable._cursor.passedThrough == 50, "the value never decreases")
        #expect(durable.take(60) == true)
        durable.passed(through: 90)
        #expect(durable.progress.cursor == 59, "the cursor does not pass messages in flight")
        try durable.acknowledged(ranges(60...60))
        #expect(durable.progress.cursor == 90)
    }
}
