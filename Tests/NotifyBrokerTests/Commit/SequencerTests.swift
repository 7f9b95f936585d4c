import Testing

@testable import NotifyBroker

struct SequencerTests {
    @Test("None is given out before the first reservation")
    func nothingWithoutReservation() {
        var sequencer = Sequencer(next: 1)
        #expect(!sequencer.isReady)
        #expect(sequencer.take() == nil)
        #expect(sequencer.last == 0)
        #expect(sequencer.wantedReservation == 1 + Sequencer.blockSize)
    }

    @Test("Usable sequences are given out without a reservation, which is asked for all the same")
    func usableWithoutReservation() {
        var sequencer = Sequencer(next: 5, usableThrough: 8)
        #expect(sequencer.isReady)
        #expect(sequencer.wantedReservation == 5 + Sequencer.blockSize)
        #expect([sequencer.take(), sequencer.take()] == [5, 6])
        sequencer.reservationBegan()
        sequencer.reservationEnded(through: 5 + Sequencer.blockSize, succeeded: false)
        #expect([sequencer.take(), sequencer.take()] == [7, nil])
        #expect(sequencer.wantedReservation == 8 + Sequencer.blockSize)
        sequencer.reservationEnded(through: 8 + Sequencer.blockSize, succeeded: true)
        #expect(sequencer.take() == 8)
    }

    @Test("A block ends below its mark, where a start after a crash goes on")
    func endsBelowTheMark() {
        var sequencer = Sequencer(next: 10)
        sequencer.reservationBegan()
        sequencer.reservationEnded(through: 12, succeeded: true)
        #expect([sequencer.take(), sequencer.take(), sequencer.take()] == [10, 11, nil])
        var afterCrash = Sequencer(next: sequencer.mark)
        afterCrash.reservationEnded(through: 20, succeeded: true)
        #expect(afterCrash.take() == 12)
    }

    @Test("The next block is asked for once, when less than half of one is left")
    func asksAtHalf() throws {
        var sequencer = Sequencer(next: 1)
        let half = Sequencer.blockSize / 2
        sequencer.reservationEnded(through: 1 + half, succeeded: true)
        #expect(sequencer.wantedReservation == nil)
        #expect(sequencer.take() == 1)
        let wanted = try #require(sequencer.wantedReservation)
        #expect(wanted == 2 + Sequencer.blockSize)
        sequencer.reservationBegan()
        #expect(sequencer.wantedReservation == nil)
    }

    @Test("A failed reservation leaves what was reserved, and is asked for again")
    func failureIsRetried() {
        var sequencer = Sequencer(next: 5)
        sequencer.reservationEnded(through: 8, succeeded: true)
        sequencer.reservationBegan()
        sequencer.reservationEnded(through: 1_000, succeeded: false)
        #expect(sequencer.mark == 8)
        #expect(sequencer.wantedReservation != nil)
        #expect([sequencer.take(), sequencer.take(), sequencer.take(), sequencer.take()] == [5, 6, 7, nil])
    }

    @Test("The next block is asked for while two billion are left, so that as many can be given out without a disk")
    func lastsWithoutDisk() {
        var sequencer = Sequencer(next: 1)
        sequencer.reservationEnded(through: 2_000_000_001, succeeded: true)
        #expect(sequencer.wantedReservation != nil)
    }

    @Test("A late outcome of an earlier reservation takes nothing back")
    func marksNeverFall() {
        var sequencer = Sequencer(next: 1)
        sequencer.reservationEnded(through: 100, succeeded: true)
        sequencer.reservationEnded(through: 50, succeeded: true)
        #expect(sequencer.mark == 100)
    }

    @Test("Sequences stay below 2^53")
    func endsBefore2To53() {
        var sequencer = Sequencer(next: Sequencer.end - 2)
        #expect(sequencer.wantedReservation == Sequencer.end)
        sequencer.reservationEnded(through: Sequencer.end, succeeded: true)
        #expect([sequencer.take(), sequencer.take(), sequencer.take()] == [Sequencer.end - 2, Sequencer.end - 1, nil])
        #expect(sequencer.wantedReservation == nil)
    }
}
