@testable import NotifyBroker
import NotifyLog
import NotifyWire
import Testing

/// Handing over, acknowledging, coming again.
struct DurableReaderFlowTests {
    private func ranges(_ ranges: ClosedRange<UInt64>...) -> [SequenceRange] {
        ranges.map { SequenceRange(first: $0.lowerBound, last: $0.upperBound) }
    }

    // MARK: Window and credit

    @Test(arguments: [1, 2, 5])
    func atMostTheWindowIsInFlight(_ window: Int) throws {
        var reader = DurableReader.held(window: window)
        for index in 0..<window {
            #expect(reader.room == window - index)
            #expect(reader.take(UInt64(11 + index)) == true)
        }
        #expect(reader.room == 0)
        #expect(!reader.canRead)
        try reader.acknowledged(ranges(11...11))
        #expect(reader.room == 1)
        #expect(reader.canRead)
    }

    @Test func creditIsUsedUpAndAcknowledgingGivesNone() throws {
        var reader = DurableReader.held(credit: 2)
        #expect(reader.room == 2)
        #expect(reader.take(11) == true)
        #expect(reader.take(12) == true)
        try reader.acknowledged(ranges(11...12))
        #expect(reader.room == 0)
        reader.creditAdded(1)
        #expect(reader.room == 1)
        reader.creditAdded(.max)
        #expect(reader.room == 4, "credit beyond what can be counted is no bound")
        #expect(reader.take(13) == true)
        #expect(reader.room == 3)
        reader.creditAdded(5)
        #expect(reader.room == 3)
    }

    @Test func withoutCreditNothingIsRead() {
        let reader = DurableReader.held(credit: 0)
        #expect(reader.room == 0)
        #expect(!reader.canRead)
    }

    @Test func whatIsAcknowledgedBehindAnOpenOneIsBounded() throws {
        var reader = DurableReader.held(window: 2)
        #expect(reader.take(11) == true)
        var sequence: UInt64 = 12
        while reader.room > 0 {
            #expect(reader.take(sequence) == true)
            try reader.acknowledged(ranges(sequence...sequence))
            sequence += 1
        }
        #expect(sequence == 11 + 16, "eight windows")
        try reader.acknowledged(ranges(11...11))
        #expect(reader.room == 2)
        #expect(reader.progress.cursor == sequence - 1)
    }

    // MARK: Acknowledging

    @Test func theCursorFollowsWhatIsDoneInOrder() throws {
        var reader = DurableReader.held(window: 10)
        for sequence in [12, 15, 18, 20] as [UInt64] { #expect(reader.take(sequence) == true) }
        #expect(reader.progress.cursor == 11, "what does not match before the first is passed")
        try reader.acknowledged(ranges(15...15))
        #expect(reader.progress.cursor == 11)
        #expect(reader.progress.acknowledged == ranges(15...15))
        try reader.acknowledged(ranges(20...20))
        #expect(reader.progress.acknowledged == ranges(15...15, 20...20))
        try reader.acknowledged(ranges(12...12))
        #expect(reader.progress.cursor == 17)
        #expect(reader.progress.acknowledged == ranges(20...20))
        try reader.acknowledged(ranges(18...18))
        #expect(reader.progress.cursor == 20)
        #expect(reader.progress.acknowledged == [])
    }

    @Test func doubleOverlappingAndUnorderedRangesCountOnce() throws {
        var reader = DurableReader.held(window: 4)
        for sequence in 11...14 as ClosedRange<UInt64> { #expect(reader.take(sequence) == true) }
        try reader.acknowledged(ranges(13...14, 12...13, 14...14, 13...13))
        #expect(reader.room == 3)
        try reader.acknowledged(ranges(0...14, 0...0))
        #expect(reader.room == 4)
        #expect(reader.progress.cursor == 14)
        try reader.acknowledged(ranges(11...14))
        #expect(reader.room == 4)
    }

    @Test func whatWasNeverDeliveredIsRefusedWhole() throws {
        var reader = DurableReader.held()
        #expect(reader.take(11) == true)
        #expect(reader.take(15) == true)
        let before = reader.progress
        let error = #expect(throws: WireError.self) { try reader.acknowledged(ranges(11...11, 15...16)) }
        #expect(error?.code == .notDelivered)
        #expect(reader.progress == before)
        try reader.acknowledged(ranges(11...15))
        #expect(reader.progress.cursor == 15)
    }

    @Test func nothingAcknowledgedIsNothing() throws {
        var reader = DurableReader.held()
        #expect(reader.take(11) == true)
        try reader.acknowledged([])
        #expect(reader.room == 3)
    }

    // MARK: Coming again

    @Test func whatWasInFlightComesAgainAndIsMarked() throws {
        var reader = DurableReader.held()
        for sequence in 11...13 as ClosedRange<UInt64> {
            #expect(!reader.isRedelivery(sequence))
            #expect(reader.take(sequence) == true)
        }
        try reader.acknowledged(ranges(12...12))
        reader.detached()
        #expect(reader.progress == DurableProgress(cursor: 10, seenThrough: 13, acknowledged: ranges(12...12)))
        reader.hold()
        #expect(reader.position == 10)
        #expect(reader.isRedelivery(11) && reader.isRedelivery(13) && !reader.isRedelivery(14))
        #expect(reader.take(11) == true)
        #expect(reader.take(12) == false, "acknowledged the last time")
        #expect(reader.take(13) == true)
        #expect(reader.take(14) == true)
        try reader.acknowledged(ranges(11...14))
        #expect(reader.progress == DurableProgress(cursor: 14, seenThrough: 14, isAttached: true))
    }

    @Test func acknowledgingAheadOfTheRepeatSkipsIt() throws {
        var reader = DurableReader.held(seenThrough: 30)
        try reader.acknowledged(ranges(15...25))
        #expect(reader.progress.acknowledged == ranges(15...25))
        #expect(reader.take(12) == true)
        #expect(reader.take(16) == false)
        #expect(reader.take(20) == false)
        #expect(reader.take(26) == true)
        #expect(reader.progress.cursor == 11)
        try reader.acknowledged(ranges(12...12))
        #expect(reader.progress.cursor == 25)
        try reader.acknowledged(ranges(0...30))
        #expect(reader.progress.cursor == 26)
    }

    /// The log refuses ranges that overlap: a start with such would fail.
    @Test func persistedRangesRiseApartAboveTheCursor() throws {
        for isFirstOpen in [false, true] {
            var reader = DurableReader.held(seenThrough: 100)
            try reader.acknowledged(ranges(15...60, 70...100))
            if isFirstOpen { #expect(reader.take(11) == true) }
            for sequence in [20, 30, 60, 65, 80] as [UInt64] {
                _ = reader.take(sequence)
                expectOrdered(reader.progress)
            }
            try reader.acknowledged(ranges(65...65))
            expectOrdered(reader.progress)
            reader.passed(through: 90)
            expectOrdered(reader.progress)
            reader.detached()
            expectOrdered(reader.progress)
            reader.hold()
            if isFirstOpen { #expect(reader.take(20) == false, "it is still known to be acknowledged") }
            #expect(reader.take(95) == false)
            expectOrdered(reader.progress)
        }
    }

    private func expectOrdered(_ progress: DurableProgress, sourceLocation: SourceLocation = #_sourceLocation) {
        var last = progress.cursor
        for range in progress.acknowledged {
            #expect(range.first > last && range.last >= range.first, "\(progress)", sourceLocation: sourceLocation)
            last = range.last
        }
    }

    @Test func rangesAcknowledgedAheadJoin() throws {
        var reader = DurableReader.held(seenThrough: 100)
        try reader.acknowledged(ranges(40...50))
        try reader.acknowledged(ranges(20...30))
        #expect(reader.progress.acknowledged == ranges(20...30, 40...50))
        try reader.acknowledged(ranges(31...39))
        #expect(reader.progress.acknowledged == ranges(20...50))
        try reader.acknowledged(ranges(0...100))
        #expect(reader.progress.acknowledged == ranges(11...100))
    }

    @Test func tooManyRangesAheadAreRefused() throws {
        let limit = UInt64(Limits.acknowledgedRangesPerFrame)
        var reader = DurableReader.held(seenThrough: 10_000)
        for index in 0..<limit { try reader.acknowledged([SequenceRange(first: 12 + index * 2, last: 12 + index * 2)]) }
        let error = #expect(throws: WireError.self) { try reader.acknowledged(ranges(9000...9000)) }
        #expect(error?.code == .limitReached)
    }

    /// A larger window left more ranges than a smaller one may add: what is handed over can be acknowledged all the same.
    @Test func whatAnEarlierHoldLeftDoesNotLockTheNextOneUp() throws {
        let left = (1...2000).map { SequenceRange(first: UInt64($0) * 2 + 11, last: UInt64($0) * 2 + 11) }
        var reader = DurableReader.held(seenThrough: 10_000, acknowledged: left, window: 4)
        for sequence in [12, 14, 16, 18] as [UInt64] { #expect(reader.take(sequence) == true) }
        #expect(reader.room == 0)
        try reader.acknowledged(ranges(12...18))
        #expect(reader.room == 4)
    }

    // MARK: Idle

    @Test func theCursorPassesWhatDoesNotMatch() throws {
        var reader = DurableReader.held()
        reader.passed(through: 50)
        #expect(reader.progress.cursor == 50)
        #expect(reader.position == 50)
        reader.passed(through: 40)
        #expect(reader.position == 50, "never back")
        #expect(reader.take(60) == true)
        reader.passed(through: 90)
        #expect(reader.progress.cursor == 59, "not past what is in flight")
        try reader.acknowledged(ranges(60...60))
        #expect(reader.progress.cursor == 90)
    }

    @Test func fallingBehindKeepsThePlace() {
        var reader = DurableReader.held()
        reader.caughtUp()
        #expect(reader.take(20) == true)
        reader.fellBehind(at: 24)
        #expect(reader.position == 24)
        #expect(reader.canRead)
        #expect(reader.progress.cursor == 19)
        reader.fellBehind(at: 99)
        #expect(reader.position == 24, "it is behind already")
    }
}
