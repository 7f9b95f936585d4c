import NotifyLog
import NotifyWire
import TestSupport
import WireTestSupport

@testable import NotifyBroker

/// The expected states of a group's messages, derived from the protocol alone: for each message its failures, its
/// holder, the members whose acknowledgement counts, and its end. All times are multiples of 10 ms, the broker's
/// resolution.
struct AnswerModel {
    struct Message {
        var failures: UInt32 = 0
        var deliveries = 0
        var holder: Int?
        var deadline = Duration.zero
        /// The members whose acknowledgement counts: the last four that received the message, without those that have
        /// rejected it or ended.
        var mayAcknowledge: [Int] = []
        var isAcknowledged = false
        /// Whether the message has failed too often or for good. A late acknowledgement still counts until the dead
        /// letter is stored.
        var isGivenUp = false
    }

    let deadline: Duration
    let maximumDeliveries: UInt32
    var messages: [UInt64: Message] = [:]
    /// The number of failures in each dead letter, by the sequence of the original message.
    var letters: [UInt64: Int] = [:]
    /// The number of stored messages that were read.
    private var readCount = 0
    private(set) var violations: [String] = []
    /// The number of occurrences of each answer.
    private(set) var happened: [String: Int] = [:]

    init(deadline: Duration, maximumDeliveries: UInt32) {
        self.deadline = deadline
        self.maximumDeliveries = maximumDeliveries
    }

    mutating func fail(_ text: String) { violations.append(text) }
    mutating func note(_ answer: String) { happened[answer, default: 0] += 1 }

    func held(by member: Int) -> [UInt64] { messages.filter { $0.value.holder == member }.keys.sorted() }

    /// The messages that the member does not hold any more, but may still acknowledge.
    func late(of member: Int) -> [UInt64] {
        messages.filter { $0.value.holder != member && $0.value.mayAcknowledge.contains(member) }.keys.sorted()
    }

    // MARK: Events

    mutating func delivered(_ received: ReceivedMessage, to member: Int, now: Duration) {
        let sequence = received.sequence
        guard var message = messages[sequence] else { return fail("\(sequence) was never posted") }
        if message.isAcknowledged || message.isGivenUp { fail("\(sequence) is delivered, although it is finished") }
        if let holder = message.holder { fail("\(sequence) is delivered to \(member), and held by \(holder)") }
        if received.delivery != message.failures + 1 {
            fail("\(sequence) has failed \(message.failures) times, and this is delivery \(received.delivery)")
        }
        if message.deliveries > 0, !received.isRedelivery { fail("\(sequence) is delivered again as if it were new") }
        message.deliveries += 1
        message.holder = member
        message.deadline = now + deadline
        if !message.mayAcknowledge.contains(member) {
            message.mayAcknowledge = message.mayAcknowledge.suffix(3) + [member]
        }
        messages[sequence] = message
    }

    /// Records the failures of messages whose deadlines have passed.
    mutating func timePassed(now: Duration) {
        for (sequence, message) in messages where message.holder != nil && message.deadline <= now {
            note("expired")
            released(sequence, isFailure: true)
        }
    }

    mutating func acknowledged(_ sequences: some Sequence<UInt64>, by member: Int) {
        for sequence in sequences {
            guard let message = messages[sequence], message.mayAcknowledge.contains(member) else { continue }
            guard !message.isAcknowledged, letters[sequence] == nil else { continue }
            note(message.holder == member ? "acknowledged" : message.isGivenUp ? "rescued" : "late")
            messages[sequence]?.isAcknowledged = true
            messages[sequence]?.isGivenUp = false
            messages[sequence]?.holder = nil
        }
    }

    mutating func rejected(_ sequence: UInt64, _ outcome: Reject.Outcome, by member: Int) {
        guard messages[sequence]?.holder == member else { return note("late \(outcome)") }
        note("\(outcome)")
        released(sequence, isFailure: outcome != .returned)
        if outcome == .dead { messages[sequence]?.isGivenUp = true }
        messages[sequence]?.mayAcknowledge.removeAll { $0 == member }
    }

    mutating func extended(_ sequences: [UInt64], by member: Int, to deadline: Duration) {
        for sequence in sequences where messages[sequence]?.holder == member {
            note("extended")
            messages[sequence]?.deadline = deadline
        }
    }

    mutating func ended(_ member: Int, died: Bool) {
        for sequence in held(by: member) {
            note(died ? "died" : "detached")
            released(sequence, isFailure: died)
        }
        for sequence in messages.keys { messages[sequence]?.mayAcknowledge.removeAll { $0 == member } }
    }

    private mutating func released(_ sequence: UInt64, isFailure: Bool) {
        messages[sequence]?.holder = nil
        guard isFailure, var message = messages[sequence] else { return }
        message.failures += 1
        message.isGivenUp = maximumDeliveries > 0 && message.failures >= maximumDeliveries
        messages[sequence] = message
    }

    // MARK: Checks

    /// Reads the stored dead letters. A dead letter is the end of its message.
    mutating func read(_ store: FakeStore) {
        for letter in store.messages.suffix(from: readCount).compactMap(\.letter) {
            guard letters[letter.sequence] == nil else { return fail("\(letter) is a dead letter twice") }
            letters[letter.sequence] = letter.deliveries
            guard let message = messages[letter.sequence] else { return fail("\(letter) was never posted") }
            if !message.isGivenUp { fail("\(letter) was given up without a reason") }
            if letter.deliveries != Int(message.failures) { fail("\(letter) failed \(message.failures) times") }
        }
        readCount = store.messages.count
    }

    /// Compares the broker's records with the model.
    mutating func check(_ durable: DurableSubscription, _ copies: [UInt64: FakeStore.Copy]) {
        let unfinished = messages.filter { !$0.value.isAcknowledged && letters[$0.key] == nil }
        if durable.redeliveryCount > unfinished.count { fail("more redeliveries than messages") }
        for (sequence, message) in messages where durable.redeliveryState(of: sequence) != nil {
            if unfinished[sequence] == nil { fail("\(sequence) is a redelivery, although it is finished") }
            let failures = durable.failures(of: sequence)
            if failures != message.failures { fail("\(sequence) has \(failures) failures, not \(message.failures)") }
        }
        for (sequence, copy) in copies where copy.row.failures > messages[sequence]?.failures ?? 0 {
            fail("the log has \(copy.row.failures) failures of \(sequence)")
        }
        for member in durable._members.all where member.unacknowledged > member.attachment.window {
            fail("a window is exceeded")
        }
    }

    /// Checks that each message was acknowledged or is a dead letter.
    mutating func checkFinished() {
        for (sequence, message) in messages where message.isAcknowledged == (letters[sequence] != nil) {
            fail("\(sequence): \(message), \(letters[sequence] as Any)")
        }
    }
}
