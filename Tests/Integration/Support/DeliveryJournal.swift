import WireTestSupport
import NotifyWire
import Synchronization

/// A record of the receipts and deliveries of all clients over several runs of a daemon, and of violated guarantees.
final class DeliveryJournal: Sendable {
    fileprivate struct State {
        var textOfSequence: [UInt64: String] = [:]
        var sequenceOfText: [String: UInt64] = [:]
        /// Sequences that a receipt reported as stored.
        var receipted: Set<UInt64> = []
        /// Sequences delivered to the durable subscription that is read continuously.
        var seen: Set<UInt64> = []
        var repeats = 0
        var volatileReceipts = 0
        var violations: [String] = []
    }

    private let state = Mutex(State())

    /// Violated guarantees.
    var violations: [String] { state.withLock { $0.violations } }
    var repeats: Int { state.withLock { $0.repeats } }
    var receipted: Set<UInt64> { state.withLock { $0.receipted } }
    var seen: Set<UInt64> { state.withLock { $0.seen } }

    /// Whether enough messages were posted, and at least one was redelivered, for a meaningful result.
    var hasEnoughData: Bool {
        state.withLock { $0.receipted.count > 1000 && $0.volatileReceipts > 1000 && $0.repeats > 0 }
    }

    func received(_ receipt: Receipt, for text: String) {
        state.withLock { state in
            state.note(receipt.sequence, text, "a receipt")
            if receipt.durability == .volatile {
                state.volatileReceipts += 1
            } else {
                state.receipted.insert(receipt.sequence)
            }
        }
    }

    func received(_ message: ReceivedMessage) {
        state.withLock { $0.note(message.sequence, message.text, "a delivery") }
    }

    /// Records a delivery to the durable subscription. `last` is the previous sequence in the same attachment.
    func received(_ message: ReceivedMessage, after last: UInt64) {
        state.withLock { state in
            state.note(message.sequence, message.text, "a durable delivery")
            if message.sequence <= last { state.violations.append("\(message.sequence) came after \(last)") }
            guard !state.seen.insert(message.sequence).inserted else { return }
            state.repeats += 1
            if !message.isRedelivery { state.violations.append("\(message.sequence) was redelivered unmarked") }
        }
    }

    func reportViolation(_ promise: String) {
        state.withLock { $0.violations.append(promise) }
    }
}

extension DeliveryJournal.State {
    fileprivate mutating func note(_ sequence: UInt64, _ text: String, _ source: String) {
        if let other = textOfSequence.updateValue(text, forKey: sequence), other != text {
            violations.append(
                "sequence \(sequence) belongs to '\(other.prefix(30))', "
                    + "but \(source) assigns it to '\(text.prefix(30))'")
        }
        if let other = sequenceOfText.updateValue(sequence, forKey: text), other != sequence {
            violations.append(
                "'\(text.prefix(30))' has sequence \(other), but \(source) has it with sequence \(sequence)")
        }
    }
}
