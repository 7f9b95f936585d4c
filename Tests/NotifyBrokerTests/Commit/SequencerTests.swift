import Testing

@testable import NotifyBroker

struct SequencerTests {
    @Test
    func `no sequence is assigned before the first reservation`() {
        var sequencer = Sequencer(next: 1)
        #expect(!sequencer.isReady)
        #expect(sequencer.take() == nil)
        #expect(sequencer.last == 0)
        #expect(sequencer.neededReservation == 1 + Sequencer.blockSize)
    }

    @Test
    func `usable sequences are assigned without a reservation, and one is still requested`() {
        var sequencer = Sequencer(next: 5, usableBelow: 8)
        #expect(sequencer.isReady)
        #expect(sequencer.neededReservation == 5 + Sequencer.blockSize)
        #expect([sequencer.take(), sequencer.take()] == [5, 6])
        sequencer.reservationBegan()
        sequencer.reservationEnded(below: 5 + Sequencer.blockSize, succeeded: false)
        #expect([sequencer.take(), sequencer.take()] == [7, nil])
        #expect(sequencer.neededReservation == 8 + Sequencer.blockSize)
        sequencer.reservationEnded(below: 8 + Sequencer.blockSize, succeeded: true)
        #expect(sequencer.take() == 8)
    }

    @Test
    func `sequences end below the bound of a reservation, and a start after a crash continues there`() {
        var sequencer = Sequencer(next: 10)
        sequencer.reservationBegan()
        sequencer.reservationEnded(below: 12, succeeded: true)
        #expect([sequencer.take(), sequencer.take(), sequencer.take()] == [10, 11, nil])
        var afterCrash = Sequencer(next: sequencer.reservedBelow)
        afterCrash.reservationEnded(below: 20, succeeded: true)
        #expect(afterCrash.take() == 12)
    }

    @Test
    func `the next reservation is requested once, when less than half of one is left`() throws {
        var sequencer = Sequencer(next: 1)
        let half = Sequencer.blockSize / 2
        sequencer.reservationEnded(below: 1 + half, succeeded: true)
        #expect(sequencer.neededReservation == nil)
        #expect(sequencer.take() == 1)
        let wanted = try #require(sequencer.neededReservation)
        #expect(wanted == 2 + Sequencer.blockSize)
        sequencer.reservationBegan()
        #expect(sequencer.neededReservation == nil)
    }

    @Test
    func `after a failed reservation, the earlier one stays, and another one is requested`() {
        var sequencer = Sequencer(next: 5)
        sequencer.reservationEnded(below: 8, succeeded: true)
        sequencer.reservationBegan()
        sequencer.reservationEnded(below: 1_000, succeeded: false)
        #expect(sequencer.reservedBelow == 8)
        #expect(sequencer.neededReservation != nil)
        #expect([sequencer.take(), sequencer.take(), sequencer.take(), sequencer.take()] == [5, 6, 7, nil])
    }

    @Test
    func `the next reservation is already requested with two billion sequences left`() {
        var sequencer = Sequencer(next: 1)
        sequencer.reservationEnded(below: 2_000_000_001, succeeded: true)
        #expect(sequencer.neededReservation != nil)
    }

    @Test
    func `a late outcome of an earlier reservation does not lower the bound`() {
        var sequencer = Sequencer(next: 1)
        sequencer.reservationEnded(below: 100, succeeded: true)
        sequencer.reservationEnded(below: 50, succeeded: true)
        #expect(sequencer.reservedBelow == 100)
    }

    @Test
    func `sequences stay below 2^53`() {
        var sequencer = Sequencer(next: Sequencer.end - 2)
        #expect(sequencer.neededReservation == Sequencer.end)
        sequencer.reservationEnded(below: Sequencer.end, succeeded: true)
        #expect([sequencer.take(), sequencer.take(), sequencer.take()] == [Sequencer.end - 2, Sequencer.end - 1, nil])
        #expect(sequencer.neededReservation == nil)
    }
}
