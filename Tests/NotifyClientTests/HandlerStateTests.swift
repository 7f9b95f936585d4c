import NotifyWire
import Testing

@testable import NotifyClient

/// Messages that wait for a handler.
@Suite struct HandlerStateTests {
    /// Makes a state in which messages 1 and 2 were delivered, and a handler has message 1.
    private func state() -> AcknowledgementState {
        var state = AcknowledgementState(window: 1, hasHandlers: true)
        _ = state.attached(cursor: 0, generation: 1, isResumed: false)
        #expect(state.delivered(1) == .new && state.delivered(2) == .new)
        #expect(state.handlerStarts(1, delivery: 1, epoch: 0) == .starts)
        return state
    }

    @Test func `nothing is pending once the answers were taken`() {
        var state = state()
        _ = state.extendHeld()
        _ = state.extendHeld()
        #expect(state.acknowledge(1, epoch: 0) == false, "the extension is pending")
        let answers = state.takeAnswers()
        #expect(answers.acknowledged == [SequenceRange(first: 1, last: 1)])
        #expect(answers.rejections.map(\.sequence) == [2])
        #expect(answers.endedHandlers == 1)
        #expect(!state.hasPending)
    }

    @Test func `a waiting message is given back at the second extension of deadlines`() {
        var state = state()
        #expect(state.extendHeld() == false)
        #expect(state.extendHeld() == true)
        #expect(state.takeRejections() == [.init(sequence: 2, outcome: .returned)])
        #expect(state.takeExtensions().map(\.sequences) == [[1]])
        #expect(state.takeEndedHandlers() == 1)
        #expect(state.handlerStarts(2, delivery: 1, epoch: 0) == .skipped)
        // Only one of two copies of the same delivery is handed out.
        #expect(state.delivered(2) == .new)
        #expect(state.handlerStarts(2, delivery: 1, epoch: 0) == .starts)
        #expect(state.handlerStarts(2, delivery: 1, epoch: 0) == .skipped)
    }

    @Test func `while the deadline is unknown, waiting messages are extended, and later given back`() {
        var state = state()
        _ = state.extendHeld(givingBackLate: false)
        #expect(state.extendHeld(givingBackLate: false) == true)
        #expect(state.takeExtensions().map(\.sequences) == [[1, 2]] && state.takeRejections().isEmpty)
        _ = state.extendHeld()
        #expect(state.takeRejections().isEmpty)
        _ = state.extendHeld()
        #expect(state.takeRejections().map(\.sequence) == [2])
    }

    @Test func `a message is not given back if a handler may have an earlier delivery of it`() {
        var state = state()
        #expect(state.delivered(1, delivery: 2) == .new)
        for _ in 0..<3 { _ = state.extendHeld() }
        #expect(state.takeRejections().map(\.sequence) == [2])
        #expect(state.takeExtensions().map(\.sequences) == [[1]])
        #expect(state.takeEndedHandlers() == 1)
        #expect(state.acknowledge(1, epoch: 0) == true)
        #expect(state.handlerStarts(1, delivery: 2, epoch: 0) == .skipped, "the message is acknowledged")
        #expect(state.takeEndedHandlers() == 1)
    }

    @Test func `a message that a handler may have is not given back after a lost connection and a stop`() {
        var state = state()
        #expect(state.delivered(1, delivery: 2) == .new)
        state.connectionLost()
        #expect(Array(state.carriedOver) == [1])
        #expect(state.handlerStarts(2, delivery: 1, epoch: 0) == .skipped)
        _ = state.attached(cursor: 0, generation: 1, isResumed: true)
        #expect(state.delivered(1, delivery: 3) == .duplicate)
        _ = state.stopHandlers()
        #expect(state.takeRejections().isEmpty)
        #expect(state.acknowledge(1, epoch: 0) == true)
    }

    @Test func `a lost connection forgets waiting messages, and their redelivery is handed out`() {
        var state = state()
        state.connectionLost()
        #expect(Array(state.carriedOver) == [1])
        #expect(state.takeEndedHandlers() == 1)
        _ = state.attached(cursor: 2, generation: 1, isResumed: true)
        #expect(state.delivered(2, delivery: 2) == .new)
        #expect(state.handlerStarts(2, delivery: 1, epoch: 0) == .skipped)
        #expect(state.handlerStarts(2, delivery: 2, epoch: 0) == .starts)
    }

    @Test func `messages of an earlier generation and of a closed subscription are skipped`() {
        var state = state()
        _ = state.attached(cursor: 0, generation: 2, isResumed: true)
        #expect(state.delivered(2) == .new)
        #expect(state.handlerStarts(2, delivery: 1, epoch: 0) == .skipped)
        #expect(state.handlerStarts(2, delivery: 1, epoch: 1) == .starts)
        #expect(state.delivered(3) == .new)
        state.close()
        #expect(state.handlerStarts(3, delivery: 1, epoch: 1) == .skipped)
    }

    @Test func `no handler starts after a stop`() {
        var state = state()
        #expect(state.stopHandlers() == true)
        #expect(state.takeRejections() == [.init(sequence: 2, outcome: .returned, delayMicroseconds: 0)])
        #expect(state.handlerStarts(2, delivery: 1, epoch: 0) == .stopped)
        #expect(state.delivered(3) == .stopped)
    }

    @Test func `a waiting message that is delivered again is given back, because no handler has it`() {
        var state = state()
        #expect(state.delivered(2, delivery: 2) == .new)
        #expect(state.takeEndedHandlers() == 1)
        for _ in 0..<2 { _ = state.extendHeld() }
        #expect(state.takeRejections() == [.init(sequence: 2, outcome: .returned, delivery: 2)])
    }

    @Test func `an acknowledgement after a lost connection ends the wait of a later delivery`() {
        var state = state()
        #expect(state.delivered(1, delivery: 2) == .new)
        _ = state.attached(cursor: 0, generation: 1, isResumed: true)
        _ = state.takeEndedHandlers()
        #expect(state.acknowledge(1, epoch: 0) == true)
        #expect(state.takeEndedHandlers() == 1)
    }
}
