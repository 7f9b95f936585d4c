import NotifyWire
import Synchronization
import Testing

@testable import NotifyClient

@Suite struct AcknowledgementLedgerTests {
    /// Records the answers that a connection takes, each time that answers are pending.
    private final class Taken: Sendable {
        let answers = Mutex<[AcknowledgementState.Answers]>([])

        func take(_ ledger: AcknowledgementLedger) {
            let taken = ledger.update { $0.takeAnswers() }
            answers.withLock { $0.append(taken) }
        }
    }

    @Test func `the answer of a handler and the credit for the next message are sent together`() {
        let taken = Taken()
        let ledger = AcknowledgementLedger(window: 2, hasHandlers: true) { taken.take($0) }
        ledger.update { _ = $0.delivered(1) }
        #expect(ledger.handlerStarts(1, delivery: 1, epoch: 0) == .starts)
        ledger.handlerEnded { ledger.acknowledge(1, epoch: 0) }
        taken.answers.withLock { answers in
            #expect(answers.map(\.acknowledged) == [[SequenceRange(first: 1, last: 1)]])
            #expect(answers.map(\.endedHandlers) == [1])
        }
    }

    @Test func `the credit is sent even if the handler has already answered its message`() {
        let taken = Taken()
        let ledger = AcknowledgementLedger(window: 2, hasHandlers: true) { taken.take($0) }
        ledger.update { _ = $0.delivered(1) }
        #expect(ledger.handlerStarts(1, delivery: 1, epoch: 0) == .starts)
        ledger.acknowledge(1, epoch: 0)
        ledger.handlerEnded { ledger.acknowledge(1, epoch: 0) }
        taken.answers.withLock { #expect($0.map(\.endedHandlers) == [0, 1]) }
    }
}
