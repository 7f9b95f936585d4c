import NotifyWire
import TestSupport
import Testing

@testable import NotifyClient

@Suite struct AcknowledgementStateTests {
    private func attached(_ delivered: [UInt64] = [], window: Int = 8) -> AcknowledgementState {
        var state = AcknowledgementState(window: window)
        state.attached(cursor: 0, isNew: false)
        for sequence in delivered { #expect(state.delivered(sequence) == .new) }
        return state
    }

    private func ranges(_ pairs: (UInt64, UInt64)...) -> [SequenceRange] {
        pairs.map { SequenceRange(first: $0.0, last: $0.1) }
    }

    @Test func `acknowledgements in order become one range, over holes`() {
        var state = attached([3, 7, 20])
        #expect(state.acknowledge(3) == true)
        #expect(state.acknowledge(7) == false)
        #expect(state.acknowledge(20) == false)
        #expect(state.takePending() == ranges((3, 20)))
        #expect(!state.hasPending)
    }

    @Test func `acknowledgements backwards become one range`() {
        var state = attached([3, 7, 20])
        for sequence: UInt64 in [20, 7, 3] { _ = state.acknowledge(sequence) }
        #expect(state.takePending() == ranges((3, 20)))
    }

    @Test func `a range does not grow over what is not acknowledged`() {
        var state = attached([1, 2, 3, 4, 5])
        for sequence: UInt64 in [1, 3, 5] { _ = state.acknowledge(sequence) }
        #expect(state.takePending() == ranges((1, 1), (3, 3), (5, 5)))
        for sequence: UInt64 in [4, 2] { _ = state.acknowledge(sequence) }
        #expect(state.takePending() == ranges((2, 4)))
    }

    @Test func `what was not delivered, or is acknowledged already, changes nothing`() {
        var state = attached([5])
        #expect(state.acknowledge(4) == false)
        #expect(state.acknowledge(6) == false)
        #expect(state.acknowledge(5) == true)
        #expect(state.acknowledge(5) == false)
        #expect(state.takePending() == ranges((5, 5)))
    }

    @Test func `after a reconnect what was acknowledged is told again and what is held is not yielded again`() {
        var state = attached([1, 2, 3])
        _ = state.acknowledge(1)
        _ = state.takePending()
        _ = state.acknowledge(3)
        state.connectionLost()
        #expect(!state.hasPending)
        state.attached(cursor: 0, isNew: false)
        #expect(state.delivered(1) == .acknowledged)
        #expect(state.delivered(2) == .held)
        #expect(state.delivered(3) == .acknowledged)
        #expect(state.delivered(4) == .new)
        #expect(state.takePending() == ranges((1, 1), (3, 3)))
    }

    @Test func `acknowledging while away, or ahead of the repeat, waits for the repeat`() {
        var state = attached([1, 2])
        state.connectionLost()
        #expect(state.acknowledge(1) == false)
        state.attached(cursor: 0, isNew: false)
        #expect(state.acknowledge(2) == false)
        #expect(state.takePending() == [])
        #expect(state.delivered(1) == .acknowledged)
        #expect(state.delivered(2) == .acknowledged)
        #expect(state.takePending() == ranges((1, 2)))
    }

    @Test func `what the cursor has passed meanwhile is done with`() {
        var state = attached([1, 2, 3])
        state.connectionLost()
        state.attached(cursor: 2, isNew: false)
        #expect(state.unacknowledgedCount == 1)
        #expect(state.acknowledge(1) == false)
        #expect(state.delivered(3) == .held)
    }

    @Test func `a subscription that was made anew has nothing to do with the old one`() {
        var state = attached([10, 11])
        state.connectionLost()
        state.attached(cursor: 0, isNew: true)
        #expect(state.delivered(10) == .new)
        #expect(state.delivered(11) == .new)
    }

    @Test func `more than twice the window is an overrun`() {
        var state = attached(Array(1...16), window: 8)
        #expect(state.delivered(17) == .overrun)
        _ = state.acknowledge(1)
        #expect(state.delivered(18) == .new)
    }

    @Test func `after the subscription is left nothing is acknowledged`() {
        var state = attached([1])
        state.close()
        #expect(state.acknowledge(1) == false)
        #expect(state.takePending() == [])
    }

    /// Against a plain model: through random deliveries, acknowledgements and reconnects, each message is yielded once, and
    /// the daemon hears of exactly what was acknowledged.
    @Test func `random life agrees with a model`() {
        let seed = UInt64.random(in: .min ... .max)
        print("AcknowledgementStateTests seed \(seed)")
        var random = SeededGenerator(seed: seed)
        var state = AcknowledgementState(window: 16)
        state.attached(cursor: 0, isNew: false)
        var next: UInt64 = 0
        var held: Set<UInt64> = []
        var yielded: Set<UInt64> = []
        var heard: Set<UInt64> = []
        var acknowledged: Set<UInt64> = []
        for _ in 0..<5_000 {
            switch Int.random(in: 0..<20, using: &random) {
            case 0..<9 where held.count < 16:
                next += UInt64.random(in: 1...3, using: &random)
                #expect(state.delivered(next) == .new)
                #expect(yielded.insert(next).inserted)
                held.insert(next)
            case 9..<18:
                guard let one = held.randomElement(using: &random) else { continue }
                held.remove(one)
                acknowledged.insert(one)
                _ = state.acknowledge(one)
            case 18:
                for range in state.takePending() {
                    let told = yielded.filter { (range.first...range.last).contains($0) }
                    #expect(told.isSubset(of: acknowledged))
                    heard.formUnion(told)
                }
            default:
                state.connectionLost()
                let unheard = yielded.subtracting(heard)
                state.attached(cursor: (unheard.min() ?? next + 1) - 1, isNew: false)
                for sequence in unheard.sorted() {
                    #expect(state.delivered(sequence) == (held.contains(sequence) ? .held : .acknowledged))
                }
                for range in state.takePending() {
                    heard.formUnion(yielded.filter { (range.first...range.last).contains($0) })
                }
                #expect(heard == acknowledged)
            }
        }
    }
}
