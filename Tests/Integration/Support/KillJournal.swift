import WireTestSupport
import NotifyWire
import Synchronization

/// What clients learnt over all lives of a daemon, and what in it breaks a promise.
final class KillJournal: Sendable {
    fileprivate struct State {
        var textOfSequence: [UInt64: String] = [:]
        var sequenceOfText: [String: UInt64] = [:]
        /// What a receipt said is stored.
        var receipted: Set<UInt64> = []
        /// What was handed to the durable subscription that is read all the time.
        var seen: Set<UInt64> = []
        var repeats = 0
        var volatileReceipts = 0
        var broken: [String] = []
    }

    private let state = Mutex(State())

    /// Promises that were broken, with the place where.
    var broken: [String] { state.withLock { $0.broken } }
    var repeats: Int { state.withLock { $0.repeats } }
    var receipted: Set<UInt64> { state.withLock { $0.receipted } }
    var seen: Set<UInt64> { state.withLock { $0.seen } }

    /// Whether so much has happened that it shows something.
    var showsALoad: Bool {
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

    /// A message came to the durable subscription, after `last` of the same attachment.
    func received(_ message: ReceivedMessage, after last: UInt64) {
        state.withLock { state in
            state.note(message.sequence, message.text, "a durable delivery")
            if message.sequence <= last { state.broken.append("\(message.sequence) came after \(last)") }
            guard !state.seen.insert(message.sequence).inserted else { return }
            state.repeats += 1
            if !message.isRedelivery { state.broken.append("\(message.sequence) came again without a flag") }
        }
    }

    func breaks(_ promise: String) {
        state.withLock { $0.broken.append(promise) }
    }
}

extension KillJournal.State {
    fileprivate mutating func note(_ sequence: UInt64, _ text: String, _ source: String) {
        if let other = textOfSequence.updateValue(text, forKey: sequence), other != text {
            broken.append("sequence \(sequence) is '\(other.prefix(30))' and, by \(source), '\(text.prefix(30))'")
        }
        if let other = sequenceOfText.updateValue(sequence, forKey: text), other != sequence {
            broken.append("'\(text.prefix(30))' has sequence \(other) and, by \(source), \(sequence)")
        }
    }
}
