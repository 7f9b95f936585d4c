import NotifyWire
import Testing

@testable import NotifyClient

@Suite struct AcknowledgementStateTests {
    private func attached(_ delivered: [UInt64] = [], window: Int = 8) -> AcknowledgementState {
        var state = AcknowledgementState(window: window)
        #expect(state.attached(cursor: 0, generation: 1, isResumed: false) == false)
        for sequence in delivered { #expect(state.delivered(sequence) == .new) }
        return state
    }

    /// Returns a state in its second attachment.
    private func reattached(
        _ state: AcknowledgementState, cursor: UInt64 = 0, generation: UInt64 = 1
    ) -> AcknowledgementState {
        var state = state
        state.connectionLost()
        #expect(state.attached(cursor: cursor, generation: generation, isResumed: true) == false)
        return state
    }

    private func ranges(_ pairs: (UInt64, UInt64)...) -> [SequenceRange] {
        pairs.map { SequenceRange(first: $0.0, last: $0.1) }
    }

    // MARK: Ranges

    @Test func `consecutive acknowledgements in any order form one range`() {
        for order: [UInt64] in [[3, 4, 5], [5, 4, 3], [3, 5, 4]] {
            var state = attached([3, 4, 5])
            let hasNewPending = order.map { state.acknowledge($0, epoch: 0) }
            #expect(hasNewPending == [true, false, false])
            #expect(state.takePending() == ranges((3, 5)))
            #expect(!state.hasPending)
        }
    }

    @Test func `a range never covers an undelivered sequence`() {
        var state = attached([3, 7, 20])
        for sequence: UInt64 in [3, 7, 20] { _ = state.acknowledge(sequence, epoch: 0) }
        #expect(state.takePending() == ranges((3, 3), (7, 7), (20, 20)))
        // Another member may have received the missing messages. If that member fails, the daemon redelivers them here.
        #expect(state.delivered(5) == .new)
        #expect(state.takePending() == [])
        #expect(state.acknowledge(5, epoch: 0) == true)
        #expect(state.takePending() == ranges((5, 5)))
    }

    @Test func `a range never covers an unacknowledged sequence`() {
        var state = attached([1, 2, 3, 4, 5])
        for sequence: UInt64 in [1, 3, 5] { _ = state.acknowledge(sequence, epoch: 0) }
        #expect(state.takePending() == ranges((1, 1), (3, 3), (5, 5)))
        for sequence: UInt64 in [4, 2] { _ = state.acknowledge(sequence, epoch: 0) }
        #expect(state.takePending() == ranges((2, 2), (4, 4)))
    }

    // MARK: Every state of a message with every event

    enum MessageState: CaseIterable {
        case unknown, belowOthers, outstanding, acknowledged, acknowledgedAndSent
        case carriedOver, carriedOverAcknowledged, sentBeforeReconnect, redelivered, passedByCursor, earlierEpoch,
            closed
    }

    /// Returns a state in which message 5 has the given message state. Message 1 was delivered in every case, message 9
    /// in every case except `unknown`.
    private func state(_ message: MessageState) -> AcknowledgementState {
        switch message {
        case .unknown: return attached([1])
        case .belowOthers: return attached([1, 9])
        case .outstanding: return attached([1, 5, 9])
        case .acknowledged:
            var state = attached([1, 5, 9])
            _ = state.acknowledge(5, epoch: 0)
            return state
        case .acknowledgedAndSent:
            var state = state(.acknowledged)
            _ = state.takePending()
            return state
        case .carriedOver: return reattached(state(.outstanding))
        case .carriedOverAcknowledged:
            var state = state(.carriedOver)
            _ = state.acknowledge(5, epoch: 0)
            return state
        case .sentBeforeReconnect: return reattached(state(.acknowledgedAndSent))
        case .redelivered:
            var state = state(.carriedOver)
            #expect(state.delivered(5) == .duplicate)
            return state
        case .passedByCursor: return reattached(state(.outstanding), cursor: 5)
        case .earlierEpoch:
            var state = state(.outstanding)
            #expect(state.attached(cursor: 0, generation: 2, isResumed: true) == true)
            return state
        case .closed:
            var state = state(.outstanding)
            state.close()
            return state
        }
    }

    @Test(arguments: MessageState.allCases)
    func `a delivery is passed on unless held, or acknowledged but not sent on this attachment`(
        message: MessageState
    ) {
        var state = state(message)
        let expected: AcknowledgementState.Disposition =
            switch message {
            case .unknown, .belowOthers, .acknowledgedAndSent, .earlierEpoch, .closed: .new
            case .outstanding, .carriedOver, .redelivered, .passedByCursor: .duplicate
            case .acknowledged, .carriedOverAcknowledged, .sentBeforeReconnect: .acknowledged
            }
        #expect(state.delivered(5) == expected)
        // A repeated delivery does not change the state.
        #expect(state.delivered(5) == (expected == .new ? .duplicate : expected))
        #expect(state.takePending() == (expected == .acknowledged ? ranges((5, 5)) : []))
    }

    @Test(arguments: MessageState.allCases)
    func `an acknowledgement is sent for deliveries of this attachment`(message: MessageState) {
        var state = state(message)
        _ = state.takePending()
        let isSent =
            switch message {
            case .outstanding, .redelivered: true
            default: false
            }
        #expect(state.acknowledge(5, epoch: 0) == isSent)
        #expect(state.acknowledge(5, epoch: 0) == false)
        #expect(state.takePending() == (isSent ? ranges((5, 5)) : []))
    }

    @Test(arguments: MessageState.allCases)
    func `held and acknowledged messages are still known after a lost connection`(message: MessageState) {
        var state = reattached(state(message), generation: message == .earlierEpoch ? 2 : 1)
        #expect(state.takePending() == [])
        let expected: AcknowledgementState.Disposition =
            switch message {
            case .unknown, .belowOthers, .earlierEpoch, .closed: .new
            case .outstanding, .carriedOver, .redelivered, .passedByCursor: .duplicate
            case .acknowledged, .acknowledgedAndSent, .carriedOverAcknowledged, .sentBeforeReconnect: .acknowledged
            }
        #expect(state.delivered(5) == expected)
    }

    @Test(arguments: MessageState.allCases)
    func `a new generation forgets all state`(message: MessageState) {
        var state = state(message)
        #expect(state.attached(cursor: 0, generation: 3, isResumed: true) == true)
        #expect(state.unacknowledgedCount == 0)
        #expect(state.takePending() == [])
        #expect(state.acknowledge(5, epoch: 0) == false)
        #expect(state.delivered(5) == .new)
        #expect(state.acknowledge(5, epoch: 0) == false, "the acknowledgement of an earlier epoch has no effect")
        #expect(state.acknowledge(5, epoch: state.epoch) == (message != .closed))
    }

    @Test(arguments: MessageState.allCases)
    func `nothing is acknowledged after the subscription has ended`(message: MessageState) {
        var state = state(message)
        state.close()
        #expect(state.acknowledge(5, epoch: state.epoch) == false)
        #expect(state.takePending() == [])
    }

    // MARK: Attachments

    @Test func `a recreated subscription forgets all state, regardless of its generation`() {
        var state = attached([1])
        #expect(state.attached(cursor: 0, generation: 1, isResumed: false) == true)
        #expect(state.delivered(1) == .new)
    }

    @Test func `another epoch of the log forgets all state, and an unknown epoch forgets nothing`() {
        var state = AcknowledgementState(window: 8)
        #expect(state.attached(cursor: 0, generation: 1, logEpoch: 5, isResumed: false) == false)
        #expect(state.delivered(1) == .new)
        #expect(state.attached(cursor: 0, generation: 1, logEpoch: 0, isResumed: true) == false)
        #expect(state.attached(cursor: 0, generation: 1, logEpoch: 5, isResumed: true) == false)
        #expect(state.delivered(1) == .duplicate)
        #expect(state.attached(cursor: 0, generation: 1, logEpoch: 6, isResumed: true) == true)
        #expect(state.delivered(1) == .new)
    }

    @Test func `redeliveries may come in any order among new messages`() {
        var state = attached([1, 2, 3, 4])
        for sequence: UInt64 in [2, 4] { _ = state.acknowledge(sequence, epoch: 0) }
        state = reattached(state)
        let order: [UInt64] = [4, 6, 1, 5, 3, 2]
        let dispositions = order.map { state.delivered($0) }
        #expect(dispositions == [.acknowledged, .new, .duplicate, .new, .duplicate, .acknowledged])
        #expect(state.takePending() == ranges((2, 2), (4, 4)))
    }

    // MARK: Bounds

    @Test func `more deliveries than twice the window are an overrun`() {
        var state = attached(Array(2...17), window: 8)
        #expect(state.delivered(18) == .overrun)
        #expect(state.delivered(1) == .overrun)
        _ = state.acknowledge(2, epoch: 0)
        #expect(state.delivered(1) == .new)
    }

    @Test func `above the limit the lowest acknowledgements are forgotten`() {
        let count = UInt64(AcknowledgementState.maximumUnconfirmedRanges)
        var state = attached()
        // Only every other sequence is acknowledged, so that no two ranges join.
        for number in 0...count {
            #expect(state.delivered(2 * number + 2) == .new)
            _ = state.acknowledge(2 * number + 2, epoch: 0)
            _ = state.takePending()
        }
        state = reattached(state)
        #expect(state.delivered(2) == .new)
        #expect(state.delivered(4) == .acknowledged)
        #expect(state.delivered(2 * count + 2) == .acknowledged)
    }
}
