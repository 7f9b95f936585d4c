import NotifyWire
import Testing

@testable import NotifyClient

/// Answers other than acknowledgements, and redeliveries within an attachment.
@Suite struct AnswerStateTests {
    /// The state of message 5.
    enum MessageState: CaseIterable {
        case unknown, outstanding, failedBefore, acknowledged, rejected, rejectedAndSent, redeliveredAfterRejection
        case redeliveredAfterDeadline, carriedOver, carriedOverRedelivered, passedByCursor, earlierEpoch, closed

        /// The number of the delivery that the consumer holds; nil if it holds none that it can answer on this
        /// attachment.
        var held: UInt32? {
            switch self {
            case .outstanding, .carriedOverRedelivered: 1
            case .failedBefore: 3
            case .redeliveredAfterRejection, .redeliveredAfterDeadline: 2
            default: nil
            }
        }

        /// The number of the last delivery, which an answer names.
        var latest: UInt32 { self == .carriedOverRedelivered ? 2 : held ?? 1 }
    }

    /// Returns a state in which messages 1 and 9 were delivered, and message 5 is in the given state.
    private func state(_ message: MessageState) -> AcknowledgementState {
        var state = AcknowledgementState(window: 8)
        _ = state.attached(cursor: 0, generation: 1, isResumed: false)
        _ = state.delivered(1)
        if message == .failedBefore { _ = state.delivered(5, delivery: 3) }
        if message != .unknown, message != .failedBefore { _ = state.delivered(5) }
        _ = state.delivered(9)
        switch message {
        case .unknown, .outstanding, .failedBefore: break
        case .acknowledged: _ = state.acknowledge(5, epoch: 0)
        case .rejected, .rejectedAndSent, .redeliveredAfterRejection:
            #expect(state.reject(.init(sequence: 5), delivery: 1, epoch: 0) == true)
            if message != .rejected { #expect(state.takeRejections().count == 1) }
            if message == .redeliveredAfterRejection { #expect(state.delivered(5, delivery: 2) == .new) }
        case .redeliveredAfterDeadline: #expect(state.delivered(5, delivery: 2) == .new)
        case .carriedOver, .carriedOverRedelivered:
            _ = state.attached(cursor: 0, generation: 1, isResumed: true)
            if message == .carriedOverRedelivered { #expect(state.delivered(5, delivery: 2) == .duplicate) }
        case .passedByCursor: _ = state.attached(cursor: 5, generation: 1, isResumed: true)
        case .earlierEpoch: _ = state.attached(cursor: 0, generation: 2, isResumed: true)
        case .closed: state.close()
        }
        return state
    }

    @Test(arguments: MessageState.allCases)
    func `a rejection is sent for a message that the consumer holds, and ends the hold`(_ message: MessageState) {
        var state = state(message)
        let (before, waiting) = (state.unacknowledgedCount, state.takeRejections().count)
        let rejection = AcknowledgementState.Rejection(
            sequence: 5, outcome: .dead, delayMicroseconds: 7, reason: "broken")
        // The answer to an earlier delivery has no effect.
        if let held = message.held, held > 1 { #expect(state.reject(rejection, delivery: held - 1, epoch: 0) == false) }
        let isSent = state.reject(rejection, delivery: message.held ?? 1, epoch: 0)
        #expect(isSent == (message.held != nil))
        var sent = rejection
        sent.delivery = message.latest
        #expect(state.takeRejections() == (isSent ? [sent] : []))
        let isForgotten = isSent || message == .carriedOver || message == .passedByCursor
        #expect(state.unacknowledgedCount == before - (isForgotten ? 1 : 0))
        #expect(waiting == (message == .rejected ? 1 : 0))
        #expect(
            state.reject(rejection, delivery: message.held ?? 1, epoch: 0) == false, "a second answer has no effect")
        #expect(state.acknowledge(5, epoch: 0) == false, "an acknowledgement after a rejection has no effect")
        if isSent { #expect(state.delivered(5, delivery: 9) == .new, "the redelivery is passed on") }
    }

    @Test(arguments: MessageState.allCases)
    func `a deadline is extended for a message that the consumer holds`(_ message: MessageState) {
        var state = state(message)
        _ = (state.takePending(), state.takeRejections())
        if let held = message.held, held > 1 { #expect(state.extend(5, by: 7, delivery: held - 1, epoch: 0) == false) }
        #expect(state.extend(5, by: 7, delivery: message.held ?? 1, epoch: 0) == (message.held != nil))
        let extended = state.takeExtensions().flatMap(\.sequences)
        #expect(extended == (message.held == nil ? [] : [5]))
        #expect(state.takeExtensions().count == 0)
    }

    /// A message that was carried over was delivered on an earlier attachment, and the consumer has not answered it.
    @Test(arguments: MessageState.allCases)
    func `a redelivery with a further failure is passed on, unless the message was carried over`(
        _ message: MessageState
    ) {
        var state = state(message)
        _ = (state.takePending(), state.takeRejections())
        let expected: AcknowledgementState.Disposition =
            switch message {
            case .carriedOver, .passedByCursor: .duplicate
            default: .new
            }
        #expect(state.delivered(5, delivery: 4) == expected)
        if expected == .new { #expect(state.delivered(5, delivery: 4) == .duplicate) }
    }

    @Test(arguments: MessageState.allCases)
    func `a lost connection forgets answers that were not sent`(_ message: MessageState) {
        var state = state(message)
        _ = state.extend(1, by: 0, delivery: 1, epoch: 0)
        _ = state.reject(.init(sequence: 9), delivery: 1, epoch: 0)
        state.connectionLost()
        let forgotten = (state.takeRejections(), state.takeExtensions())
        #expect(forgotten.0.isEmpty && forgotten.1.isEmpty)
    }

    @Test func `only the first answer of several is reported as pending`() {
        var state = state(.outstanding)
        #expect(state.extend(1, by: 0, delivery: 1, epoch: 0) == true)
        #expect(state.reject(.init(sequence: 5), delivery: 1, epoch: 0) == false)
        #expect(state.acknowledge(9, epoch: 0) == false)
        #expect(state.takePending().count == 1)
        #expect(state.hasPending)
        #expect(state.takeRejections().count == 1)
        #expect(state.hasPending)
        #expect(state.takeExtensions().count == 1)
        #expect(!state.hasPending)
    }

    @Test func `extensions are grouped by the new deadline, and answered messages get none`() {
        var state = state(.outstanding)
        _ = state.extend(9, by: 3, delivery: 1, epoch: 0)
        #expect(state.extendHeld() == false, "messages delivered since the last call are not extended")
        _ = state.delivered(10)
        #expect(state.extendHeld() == false, "an extension was pending already")
        _ = state.acknowledge(1, epoch: 0)
        let extensions = state.takeExtensions()
        #expect(extensions.map(\.microseconds) == [0, 3] && extensions.map(\.sequences) == [[5], [9]])
        for sequence: UInt64 in [5, 9, 10] { _ = state.acknowledge(sequence, epoch: 0) }
        _ = state.takePending()
        #expect(state.extendHeld() == false)
        #expect(state.takeExtensions().isEmpty == true)
    }

    @Test func `a message whose deadline passes repeatedly has a bounded number of copies`() {
        var state = AcknowledgementState(window: 2)
        _ = state.attached(cursor: 0, generation: 1, isResumed: false)
        #expect(state.delivered(1) == .new)
        for delivery: UInt32 in 2...5 { #expect(state.delivered(1, delivery: delivery) == .new) }
        #expect(state.delivered(1, delivery: 6) == .duplicate)
        #expect(state.acknowledge(1, epoch: 0) == true)
        #expect(state.delivered(2) == .new)
        #expect(state.delivered(2, delivery: 2) == .new, "an answer releases the copies")
    }

    @Test func `after a lost connection, messages that the cursor has passed are not handed out again`() {
        var state = AcknowledgementState(window: 8)
        _ = state.attached(cursor: 0, generation: 1, isResumed: false)
        for sequence: UInt64 in 1...4 { #expect(state.delivered(sequence) == .new) }
        #expect(state.acknowledge(4, epoch: 0) == true)
        #expect(state.takePending() == [SequenceRange(first: 4, last: 4)])
        state.connectionLost()
        #expect(state.acknowledge(1, epoch: 0) == false)
        #expect(state.hasUnsent)
        #expect(state.attached(cursor: 4, generation: 1, isResumed: true) == false)
        let dispositions = (1...4).map { state.delivered($0, delivery: 2) }
        #expect(dispositions == [.acknowledged, .duplicate, .duplicate, .acknowledged])
        #expect(state.takePending() == [SequenceRange(first: 1, last: 1), SequenceRange(first: 4, last: 4)])
        #expect(!state.hasUnsent)
        #expect(state.acknowledge(2, epoch: 0) == true)
    }

    @Test func `messages of an earlier attachment make room for others once the cursor has passed them`() {
        var state = AcknowledgementState(window: 1)
        _ = state.attached(cursor: 0, generation: 1, isResumed: false)
        for sequence: UInt64 in 1...2 { #expect(state.delivered(sequence) == .new) }
        _ = state.attached(cursor: 1, generation: 1, isResumed: true)
        #expect(state.delivered(3) == .new)
        #expect(state.delivered(4) == .overrun, "2 may be delivered to this client again")
        #expect(state.unacknowledgedCount == 2)
    }

    @Test func `a message is handed out again if its dead letter is retried after an acknowledgement`() {
        var state = AcknowledgementState(window: 8)
        _ = state.attached(cursor: 0, generation: 1, isResumed: false)
        #expect(state.delivered(1) == .new)
        #expect(state.acknowledge(1, epoch: 0) == true)
        #expect(state.takePending() == [SequenceRange(first: 1, last: 1)])
        #expect(state.delivered(1) == .new)
        #expect(state.acknowledge(1, epoch: 0) == true)
    }
}
