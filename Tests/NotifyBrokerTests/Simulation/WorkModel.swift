import NotifyCenter
import NotifyLog
import NotifyWire

@testable import NotifyBroker

/// The client actions that cause redeliveries and dead letters. They give upper bounds for the failures of messages.
/// Subscriptions are identified by their names.
struct WorkModel {
    struct Key: Hashable {
        var name: String
        var sequence: UInt64
    }

    /// The shortest deadline.
    static let deadline = Duration.milliseconds(100)

    /// Whether subscriptions may have deadlines.
    var usesDeadlines = false
    /// Whether dead letters may be deleted on request.
    var isPurging = false
    /// Whether dead letters may be deleted in other ways.
    var losesLetters = false
    /// Subscriptions that have, or may have had, a deadline.
    var timed: Set<String> = []
    /// Subscriptions whose settings were changed.
    var configured: Set<String> = []
    /// The smallest limit of deliveries that a subscription may have had.
    private(set) var leastDeliveries: [String: UInt32] = [:]
    /// The number of requests to deliver dead letters again, and of removals of the subscription.
    var renewals: [String: Int] = [:]
    /// The number of a user's clients that have died.
    var deaths: [UInt32: Int] = [:]
    private var rejections: [Key: Int] = [:]
    private var givenUp: Set<Key> = []
    /// The number of times that each message has become a dead letter.
    private var deadLettered: [Key: Int] = [:]
    private var checkedThrough: UInt64 = 0

    mutating func set(_ changes: DurableSettingChanges, of name: String, sharing: DurableSharing?) {
        let deadline = changes.deadlineMicroseconds ?? (sharing == .group ? 1 : 0)
        if deadline > 0 { timed.insert(name) }
        let deliveries = changes.maximumDeliveries ?? (sharing == .group ? 5 : 0)
        if deliveries > 0 { leastDeliveries[name] = min(deliveries, leastDeliveries[name] ?? .max) }
    }

    mutating func rejected(_ sequence: UInt64, of name: String, _ outcome: Reject.Outcome) {
        let key = Key(name: name, sequence: sequence)
        if outcome != .returned { rejections[key, default: 0] += 1 }
        if outcome == .dead { givenUp.insert(key) }
    }

    /// The maximum number of failures that a message may have.
    func maximumFailures(of sequence: UInt64, _ name: String, uid: UInt32, age: Duration) -> Int {
        let timeouts = timed.contains(name) ? Int(age / Self.deadline) + 1 : 0
        return rejections[Key(name: name, sequence: sequence), default: 0] + deaths[uid, default: 0] + timeouts
    }

    /// The messages of a subscription that are dead letters. If dead letters may be deleted, also those that were dead
    /// letters earlier.
    func letters(of name: String, _ store: FakeStore) -> Set<UInt64> {
        if isPurging || losesLetters { return Set(deadLettered.keys.lazy.filter { $0.name == name }.map(\.sequence)) }
        return Set(store.messages.lazy.compactMap(\.letter).filter { $0.name == name }.map(\.sequence))
    }

    /// Checks the dead letters that were stored since the last call.
    ///
    /// - Returns: The descriptions of the errors.
    mutating func checkLetters(_ store: FakeStore, _ posts: [UInt64: ReferenceModel.Posted]) -> [String] {
        var wrong: [String] = []
        for message in store.messages where message.sequence > checkedThrough {
            guard let letter = message.letter else { continue }
            let key = Key(name: letter.name, sequence: letter.sequence)
            deadLettered[key, default: 0] += 1
            if deadLettered[key, default: 0] > 1 + renewals[letter.name, default: 0] + store.resets {
                wrong.append("\(letter) is a dead letter \(deadLettered[key, default: 0]) times")
            }
            guard let post = posts[letter.sequence] else {
                wrong.append("the dead letter of \(letter), which was never posted")
                continue
            }
            let age = (posts[message.sequence]?.time ?? .zero) - post.time
            let most = maximumFailures(of: letter.sequence, letter.name, uid: letter.uid, age: age)
            if letter.deliveries > most { wrong.append("\(letter) failed at most \(most) times") }
            let isLast = leastDeliveries[letter.name].map { $0 <= letter.deliveries } ?? false
            if !isLast, !givenUp.contains(key) { wrong.append("\(letter) was given up without a reason") }
        }
        checkedThrough = max(checkedThrough, store.persistedThrough)
        return wrong
    }
}

/// A dead letter in the store.
struct StoredLetter {
    var name: String
    var uid: UInt32
    var sequence: UInt64
    var deliveries: Int
}

extension FakeStore.Message {
    var isDeadLetter: Bool { name.starts(with: DeadLetterHeaders.namePrefix.utf8) }

    /// The message as a dead letter; nil if it is not one.
    var letter: StoredLetter? {
        guard isDeadLetter else { return nil }
        return frame.withUnsafeBytes { bytes in
            guard let message = try? Delivery(reading: UnsafeRawBufferPointer(rebasing: bytes[FrameHeader.size...])),
                let headers = DeadLetterHeaders(reading: message.parts.headers)
            else { return nil }
            return StoredLetter(
                name: String(decoding: object, as: UTF8.self), uid: uid, sequence: headers.stamp.sequence,
                deliveries: Int(headers.deliveries))
        }
    }
}
