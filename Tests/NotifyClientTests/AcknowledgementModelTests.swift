import NotifyWire
import TestSupport
import Testing

@testable import NotifyClient

/// Compares the acknowledgement state with a model that uses sets. The simulated daemon delivers to other members of
/// the group, loses frames, redelivers in any order, and resets the subscription.
@Suite struct AcknowledgementModelTests {
    private struct Model {
        static let window = 16

        var random: SeededGenerator
        var state = AcknowledgementState(window: Model.window)
        var generation: UInt64 = 1
        /// The highest sequence posted.
        var posted: UInt64 = 0
        /// The messages for which the daemon has received no acknowledgement.
        var log: Set<UInt64> = []
        /// The messages in `log` that were delivered to this client in this attachment.
        var handedOver: Set<UInt64> = []
        /// The messages that were delivered to the consumer and not acknowledged.
        var outstanding: Set<UInt64> = []
        var acknowledged: Set<UInt64> = []

        init(seed: UInt64) {
            random = SeededGenerator(seed: seed)
            _ = state.attached(cursor: 0, generation: generation, isResumed: false)
        }

        mutating func step() {
            switch Int.random(in: 0..<40, using: &random) {
            case 0..<14: postAndMaybeDeliver()
            case 14..<19: deliverAgain()
            case 19..<34: acknowledge()
            case 34..<38: send(reaches: true)
            case 38: reconnect(generation: generation)
            default: reset()
            }
        }

        /// Posts a message. The daemon delivers the message to this client, or to another member first.
        private mutating func postAndMaybeDeliver() {
            posted += UInt64.random(in: 1...3, using: &random)
            log.insert(posted)
            if Bool.random(using: &random) { deliver(posted) }
        }

        /// Redelivers a message that was delivered to this client before, or that another member has not acknowledged.
        private mutating func deliverAgain() {
            guard let sequence = log.sorted().randomElement(using: &random) else { return }
            deliver(sequence)
        }

        private mutating func deliver(_ sequence: UInt64) {
            guard handedOver.contains(sequence) || handedOver.count < Self.window else { return }
            let expected: AcknowledgementState.Disposition =
                outstanding.contains(sequence) ? .duplicate : acknowledged.contains(sequence) ? .acknowledged : .new
            if expected == .new, outstanding.count >= 2 * Self.window { return }
            #expect(state.delivered(sequence) == expected)
            handedOver.insert(sequence)
            if expected == .new { outstanding.insert(sequence) }
        }

        private mutating func acknowledge() {
            guard let sequence = outstanding.sorted().randomElement(using: &random) else { return }
            outstanding.remove(sequence)
            acknowledged.insert(sequence)
            _ = state.acknowledge(sequence, epoch: state.epoch)
        }

        /// Sends the pending ranges. They must contain only sequences that were delivered in this attachment and
        /// acknowledged. Otherwise, the daemon would lose messages.
        ///
        /// - Parameter reaches: Whether the daemon receives the ranges.
        private mutating func send(reaches: Bool) {
            for range in state.takePending() {
                for sequence in range.first...range.last {
                    #expect(acknowledged.contains(sequence))
                    if reaches {
                        #expect(handedOver.contains(sequence) || !log.contains(sequence))
                        log.remove(sequence)
                        handedOver.remove(sequence)
                    }
                }
            }
            if reaches { #expect(handedOver.isDisjoint(with: acknowledged)) }
        }

        private mutating func reconnect(generation: UInt64) {
            if Bool.random(using: &random) { send(reaches: Bool.random(using: &random)) }
            handedOver = []
            state.connectionLost()
            if let one = outstanding.sorted().randomElement(using: &random) {
                outstanding.remove(one)
                acknowledged.insert(one)
                #expect(state.acknowledge(one, epoch: state.epoch) == false)
            }
            self.generation = generation
            let cursor = (log.min() ?? posted + 1) - 1
            #expect(state.attached(cursor: cursor, generation: generation, isResumed: true) == false)
        }

        /// Resets the subscription to the oldest message that the daemon still has.
        private mutating func reset() {
            let kept = posted > 40 ? posted - 40 : 1
            log.formUnion(acknowledged.filter { $0 >= kept })
            handedOver = []
            outstanding = []
            acknowledged = []
            generation += 1
            #expect(state.attached(cursor: 0, generation: generation, isResumed: true) == true)
        }
    }

    @Test func `after random operations, the state agrees with a model that uses sets`() {
        let seed = UInt64.random(in: .min ... .max)
        print("AcknowledgementModelTests seed \(seed)")
        var model = Model(seed: seed)
        for _ in 0..<4_000 { model.step() }
        #expect(model.posted > 1000 && model.generation > 2)
    }
}
