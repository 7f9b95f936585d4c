import NotifyLog
import NotifyWire
import WireTestSupport

@testable import NotifyBroker

/// The expected states of the messages of a durable subscription whose members have different rights.
///
/// A message is finished if it was acknowledged, became a dead letter, was dropped with a gap, or was skipped. A
/// message may be dropped or skipped only while no known identity of the subscription may receive it.
struct RightsModel {
    struct Message {
        let family: NameFamily
        /// The maximum number of failures that may be recorded.
        var failures: UInt32 = 0
        /// The time until which the message may wait for its next delivery.
        var waitsUntil = Duration.zero
        var isAcknowledged = false
        var isSkipped = false
        var isDropped = false
        /// Whether the message has waited for a member that may receive it.
        var wasWithheld = false
    }

    let name: String
    let pattern: String
    let sharing: DurableSharing
    private(set) var messages: [UInt64: Message] = [:]
    /// The supplementary groups of each identity that attached. The latest identity is the last.
    private(set) var identities: [[UInt32]] = []
    /// The sequences of the messages that have become dead letters.
    private(set) var letters: Set<UInt64> = []
    private(set) var violations: [String] = []

    /// The sequences of the messages that may be pending.
    private var watched: Set<UInt64> = []
    /// The families that no identity could receive at some time since the last observation.
    private var forbidden: Set<NameFamily> = []
    /// The redeliveries as of the last observation.
    private var redeliveries: Set<UInt64> = []
    /// The messages that were dropped, and the gaps that were received, since the last comparison.
    private var dropped: Set<UInt64> = []
    private var gaps: [Gap] = []
    /// Whether some gaps since the last comparison were sent to connections that have ended.
    private var areGapsMissing = false
    /// The messages that were dropped while no client was attached, and those of them that no gap has reported.
    private var lost: Set<UInt64> = []
    private var unreported: Set<UInt64> = []

    init(name: String, pattern: String, sharing: DurableSharing) {
        (self.name, self.pattern, self.sharing) = (name, pattern, sharing)
    }

    mutating func fail(_ what: String) { violations.append("'\(name)': \(what)") }

    // MARK: Events

    mutating func posted(_ sequence: UInt64, _ family: NameFamily) {
        messages[sequence] = Message(family: family)
        watched.insert(sequence)
    }

    mutating func change(_ sequence: UInt64, _ change: (inout Message) -> Void) {
        guard var message = messages[sequence] else { return fail("\(sequence) was never posted") }
        change(&message)
        messages[sequence] = message
    }

    /// Records that the deliveries of some messages have ended.
    mutating func ended(_ sequences: some Sequence<UInt64>, isFailure: Bool, waitsUntil end: Duration) {
        for sequence in sequences {
            change(sequence) { message in
                message.failures += isFailure ? 1 : 0
                message.waitsUntil = max(message.waitsUntil, end)
            }
        }
    }

    /// Records a change of the policy.
    mutating func rightsChanged(to rights: RightsTable) { forbidden.formUnion(rights.forbidden(identities)) }

    /// The expected identities after an attachment.
    ///
    /// - Parameter members: The identities that have a member.
    func identities(afterAttachmentOf identity: [UInt32], members: Set<[UInt32]>) -> [[UInt32]] {
        var order = identities
        if !order.contains(identity), let end = order.lastIndex(where: { !members.contains($0) }) {
            let kept = order[..<end].filter(members.contains)
            order.removeAll(where: kept.contains)
            order += kept
        }
        order.removeAll { $0 == identity }
        order.append(identity)
        return order.suffix(DurableRecord.maximumOwners)
    }

    // MARK: Received

    /// - Parameters:
    ///   - family: The family of the message's name.
    ///   - isLate: Whether the message may have been sent long ago.
    mutating func received(_ message: ReceivedMessage, _ family: NameFamily, isLate: Bool) {
        guard let known = messages[message.sequence], known.family == family else {
            return fail("\(message.sequence) of \(family) is not the message that was posted")
        }
        if message.delivery < 1 || message.delivery > 1 + known.failures {
            fail("delivery \(message.delivery) of \(message.sequence), which failed \(known.failures) times at most")
        }
        guard !isLate else { return }
        if isFinished(message.sequence) { fail("\(message.sequence) is delivered, although it is finished: \(known)") }
    }

    mutating func received(_ gap: Gap) {
        guard gap.reason == .deleted else {
            gaps.append(gap)
            if gap.reason != .forbidden || gap.isUpperBound { fail("an unexpected gap: \(gap)") }
            return
        }
        let range = gap.range.first...gap.range.last
        let (least, most) = (UInt64(unreported.filter(range.contains).count), UInt64(lost.filter(range.contains).count))
        let areEndsLost = lost.contains(range.lowerBound) && lost.contains(range.upperBound)
        if !areEndsLost || gap.dropped < least || gap.dropped > most || !gap.isUpperBound {
            fail("\(lost.sorted()) were dropped without a client, the gap is \(gap)")
        }
        unreported = unreported.filter { !range.contains($0) }
    }

    /// Records the end of a connection to which a gap may have been sent.
    mutating func lostGaps() {
        areGapsMissing = true
        unreported = []
    }

    /// The messages that were dropped while no client was attached, and that no gap has reported since.
    var unreportedLosses: [UInt64] { unreported.sorted() }

    // MARK: Comparing

    func isFinished(_ sequence: UInt64) -> Bool {
        guard let message = messages[sequence] else { return true }
        return message.isAcknowledged || message.isSkipped || message.isDropped || letters.contains(sequence)
    }

    /// The stored messages that are not finished.
    func unfinished(_ store: FakeStore) -> [(sequence: UInt64, message: Message)] {
        messages.filter { !isFinished($0.key) && store.message($0.key) != nil }
            .map { ($0.key, $0.value) }.sorted { $0.sequence < $1.sequence }
    }

    /// The number of skipped messages above `sequence` that a known identity may receive now.
    func skipped(after sequence: UInt64, _ rights: RightsTable) -> Int {
        let forbidden = rights.forbidden(identities)
        return messages.count { $0.key > sequence && $0.value.isSkipped && !forbidden.contains($0.value.family) }
    }

    /// Records the changes of the messages since the last observation. Between two observations, a message must not
    /// both become a redelivery and be dropped.
    ///
    /// - Parameters:
    ///   - position: The sequence through which the log was read for the subscription.
    ///   - identities: The identities of the subscription that the broker knows.
    ///   - letters: The messages that have become dead letters.
    mutating func observe(
        _ durable: DurableSubscription, readThrough position: UInt64, _ identities: [[UInt32]],
        _ letters: Set<UInt64>, _ rights: RightsTable, _ store: FakeStore
    ) {
        // The message of a dead letter that no longer exists is delivered again, even if it was acknowledged late.
        for sequence in self.letters.subtracting(letters) {
            messages[sequence]?.isAcknowledged = false
            watched.insert(sequence)
        }
        (self.identities, self.letters) = (identities, letters)
        forbidden.formUnion(rights.forbidden(identities))
        let current = Set(durable._redeliveries.messages.keys)
        for sequence in watched {
            guard let message = messages[sequence], store.message(sequence) != nil else {
                if sequence <= store.persistedThrough { watched.remove(sequence) }
                continue
            }
            let state = durable._cursor.state(of: sequence)
            if message.isAcknowledged || letters.contains(sequence) {
                if state == .acknowledged, !current.contains(sequence) { watched.remove(sequence) }
                continue
            }
            let isPassed = state == .acknowledged || sequence <= position
            if current.contains(sequence) || state == .inFlight || !isPassed {
                messages[sequence]?.isSkipped = false
                if message.isDropped { fail("\(sequence) is pending, although it was dropped") }
            } else if !message.isSkipped, !message.isDropped {
                passed(sequence, message.family, hasMember: durable.hasCommittedMember)
            } else if state == .acknowledged {
                watched.remove(sequence)
            }
        }
        redeliveries = current
        forbidden = rights.forbidden(identities)
    }

    /// Handles a message that the broker has passed and that is neither pending nor finished.
    private mutating func passed(_ sequence: UInt64, _ family: NameFamily, hasMember: Bool) {
        if !forbidden.contains(family) { fail("\(sequence) of \(family) is lost") }
        if redeliveries.contains(sequence) {
            messages[sequence]?.isDropped = true
            if hasMember {
                dropped.insert(sequence)
            } else {
                lost.insert(sequence)
                unreported.insert(sequence)
            }
        } else {
            messages[sequence]?.isSkipped = true
        }
    }

    /// Compares the gaps with the messages that were dropped.
    ///
    /// - Returns: The number of dropped messages.
    mutating func compareGaps() -> Int {
        let count = UInt64(dropped.count)
        let reported = gaps.reduce(0) { $0 + $1.dropped }
        if reported > count || (reported < count && !areGapsMissing) {
            fail("\(dropped.sorted()) were dropped, the gaps report \(reported): \(gaps)")
        }
        for gap in gaps where !(dropped.contains(gap.range.first) && dropped.contains(gap.range.last)) {
            fail("\(gap) ends at a message that was not dropped")
        }
        (dropped, gaps, areGapsMissing) = ([], [], false)
        return Int(count)
    }

    /// Forgets all state that was not in the log when the broker ended.
    mutating func restarted(_ record: DurableRecord, _ copies: [UInt64: FakeStore.Copy], now: Duration) {
        for (sequence, message) in messages {
            let copy = copies[sequence]
            guard copy != nil || !record.progress.hasPassed(sequence) else { continue }
            let delay = Duration.microseconds(Int64(copy?.row.delayMicroseconds ?? 0))
            messages[sequence] = Message(
                family: message.family, failures: message.failures,
                waitsUntil: max(message.waitsUntil, now + delay), wasWithheld: message.wasWithheld)
        }
        redeliveries = Set(copies.keys)
        lost.subtract(copies.keys)
        unreported.subtract(copies.keys)
        watched = Set(messages.keys)
        (dropped, gaps, areGapsMissing) = ([], [], false)
    }
}
