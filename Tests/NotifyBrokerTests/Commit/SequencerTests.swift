import Testing

@testable import NotifyBroker

struct SequencerTests {
    @Test
    func `no sequence is assigned before the first reservation`() {
        var sequencer = Sequencer(next: 1)
        #expect(!sequencer.isReady)
        #expect(sequencer.take() == nil)
        #expect(sequencer.last == 0)
        #expect(sequencer.wantedReservation == 1 + Sequencer.blockSize)
    }

    @Test
    func `usable sequences are assigned without a reservation, which is still requested`() {
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

    @Test
    func `a block ends below its mark, where a restart after a crash continues`() {
        var sequencer = Sequencer(next: 10)
        sequencer.reservationBegan()
        sequencer.reservationEnded(through: 12, succeeded: true)
        #expect([sequencer.take(), sequencer.take(), sequencer.take()] == [10, 11, nil])
        var afterCrash = Sequencer(next: sequencer.mark)
        afterCrash.reservationEnded(through: 20, succeeded: true)
        #expect(afterCrash.take() == 12)
    }

    @Test
    func `the next block is requested once, when less than half of a block is left`() throws {
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

    @Test
    func `a failed reservation keeps the earlier block and is requested again`() {
        var sequencer = Sequencer(next: 5)
        sequencer.reservationEnded(through: 8, succeeded: true)
        sequencer.reservationBegan()
        sequencer.reservationEnded(through: 1_000, succeeded: false)
        #expect(sequencer.mark == 8)
        #expect(sequencer.wantedReservation != nil)
        #expect([sequencer.take(), sequencer.take(), sequencer.take(), sequencer.take()] == [5, 6, 7, nil])
    }

    @Test
    func `the next block is already requested with two billion sequences left`() {
        var sequencer = Sequencer(next: 1)
        sequencer.reservationEnded(through: 2_000_000_001, succeeded: true)
        #expect(sequencer.wantedReservation != nil)
    }

    @Test
    func `a late outcome of an earlier reservation does not lower the mark`() {
        var sequencer = Sequencer(next: 1)
        sequencer.reservationEnded(through: 100, succeeded: true)
        sequencer.reservationEnded(through: 50, succeeded: true)
        #expect(sequencer.mark == 100)
    }

    @Test
    func `sequences stay below 2^53`() {
        var sequencer = Sequencer(next: Sequencer.end - 2)
        #expect(sequencer.wantedReservation == Sequencer.end)
        sequencer.reservationEnded(through: Sequencer.end, succeeded: true)
        #expect([sequencer.take(), sequencer.take(), sequencer.take()] == [Sequencer.end - 2, Sequencer.end - 1, nil])
        #expect(sequencer.wantedReservation == nil)
    }
}
