import NotifyLog
import NotifyWire
import Testing

@testable import NotifyBroker

/// A durable subscription on a manual clock with up to three clients, A, B and C, and the message that a test observes.
struct SubscriptionCase {
    static let deadline = Duration.seconds(10)
    static let delay = Duration.seconds(5)
    /// The last sequence before the first message.
    static let start: UInt64 = 10

    var durable: DurableSubscription
    var now = Duration.zero
    /// The observed message.
    var focus = Self.start + 1
    /// The indices of the members, by their letters.
    var members: [Character: Int] = [:]
    /// The member that holds the message.
    var holder: Character?
    /// A member whose deadline for the message has passed.
    var former: Character?

    init(_ sharing: DurableSharing, redeliveries: Redeliveries = Redeliveries(), window: Int = 1_000) {
        var record = DurableRecord(
            id: DurableID(3), owner: Identity(uid: 1000, gid: 1000), name: "jobs", filter: .everything,
            startedAfter: 0, progress: DurableProgress(cursor: Self.start, seenThrough: Self.start))
        record.settings = DurableSettings(defaultsFor: sharing)
        if sharing == .group {
            record.settings.deadlineMicroseconds = UInt64(Self.deadline / .microseconds(1))
            record.settings.maximumDeliveries = 2
        }
        record.settings.retryDelays = [UInt64(Self.delay / .microseconds(1))]
        durable = DurableSubscription(record, redeliveries: redeliveries, identities: [.test])
        self.window = window
    }

    private let window: Int

    var time: BrokerTime { .test(now) }

    // MARK: Members

    private func attachment(_ letter: Character, window: Int? = nil) -> NotifyBroker.Attachment {
        let number = UInt32(letter.asciiValue ?? 0)
        return NotifyBroker.Attachment(
            connection: ConnectionID(index: Int(number), generation: 0), number: number,
            instance: InstanceID(high: 0, low: UInt64(number)), identity: .test, pid: number,
            request: UInt64(number), isResumed: true, window: window ?? self.window, requestedMicroseconds: 0)
    }

    /// Attaches a client as the broker does.
    ///
    /// - Throws: The error with which the attachment is refused.
    mutating func attach(
        _ letter: Character, window: Int? = nil, sharing: DurableSharing? = nil, takesOver: Bool = false
    ) throws(WireError) {
        let attachment = attachment(letter, window: window)
        let sharing = sharing ?? durable.settings.sharing
        switch durable.attachRequested(
            by: attachment.instance, on: attachment.connection, filter: .everything, sharing: sharing,
            takesOver: takesOver)
        {
        case .free: break
        case .takeOver(let earlier):
            durable.detached(earlier.compactMap { durable.memberIndex(of: $0) }, .detached, now: time)
            members = members.filter { durable._members[$0.value] != nil }
        case .refused(let error, _): throw error
        }
        if sharing != durable.settings.sharing {
            durable.share(sharing)
            durable.sharingEnded()
        }
        members[letter] = durable.attached(attachment, credit: Subscribe.unlimitedCredit)
        _ = durable.attachmentCommitted(attachment)
    }

    mutating func end(_ letter: Character, _ ending: DurableSubscription.Ending) {
        guard let index = members.removeValue(forKey: letter) else { return }
        durable.detached([index], ending, now: time)
    }

    func index(_ letter: Character) -> Int { members[letter] ?? -1 }

    private func letter(_ id: MemberID) -> Character? {
        members.first { durable._members[$0.value]?.id == id }?.key
    }

    // MARK: Messages

    /// Delivers the next messages for the first time, each to the candidate.
    ///
    /// - Returns: The member that got the last message; nil if no member had room.
    @discardableResult
    mutating func deliver(_ count: Int = 1) -> Character? {
        var last: Character?
        for _ in 0..<count {
            last = nil
            guard durable.room > 0, let index = durable.candidate() else { return nil }
            let sequence = max(durable._cursor.passedThrough, durable.position) + 1
            guard durable.take(sequence, bytes: 100, for: index, at: CoarseTime(now)) else { return nil }
            last = members.first { $0.value == index }?.key
        }
        return last
    }

    /// Commits the pending changes of the log.
    mutating func save() {
        let batch = durable._redeliveries.takeUnsaved(of: durable.id, now: now)
        durable._redeliveries.saved(batch.reasons.keys.sorted())
    }

    mutating func pass(_ time: Duration) {
        now += time
        durable.timePassed(now: self.time)
        save()
    }

    /// Delivers the observed message again, to a member.
    mutating func redeliver(to letter: Character) {
        save()
        #expect(durable.takeDue(maximumCount: 1, maximumBytes: 0) == [focus])
        #expect(durable.redeliver(focus, to: index(letter), now: now) != nil)
        holder = letter
    }

    // MARK: Observing

    /// The members, with stalled ones in lower case, and the state of the observed message.
    var summary: String {
        let names = members.keys.sorted().map { letter in
            durable._members[index(letter)]?.isStalled == true ? letter.lowercased() : String(letter)
        }
        if durable.state == .removing { return "removed:" + place }
        return (names.isEmpty ? "-" : names.joined()) + ":" + place
    }

    private var place: String {
        guard let state = durable.redeliveryState(of: focus) else { return cursorPlace }
        let failures = durable.failures(of: focus)
        return switch state {
        case .waiting: "wait\(failures)"
        case .due: "due\(failures)"
        case .reading: "read\(failures)"
        case .inFlight(let member, _): "again\(failures)" + (letter(member).map(String.init) ?? "?")
        case .dead: "dead\(failures)"
        case .deadLettering: "bury\(failures)"
        }
    }

    private var cursorPlace: String {
        switch durable._cursor.state(of: focus) {
        case .pending: return "log"
        case .acknowledged: return "done"
        default:
            let holder = members.first { _, index in
                guard let id = durable._members[index]?.id else { return false }
                var cursor = durable._cursor
                return cursor.take(focus, from: id) != nil
            }
            return holder.map { "first\($0.key)" } ?? "moving"
        }
    }

    /// Moves ten slices of messages of ended members, without further deliveries.
    mutating func settle() {
        for _ in 0..<10 { pass(.zero) }
    }

    /// Whether the acknowledged ranges are ascending and above the cursor.
    var cursorIsOrdered: Bool {
        let progress = durable.progress
        let bounds = [progress.cursor] + progress.acknowledged.flatMap { [$0.first, $0.last] }
        return zip(bounds, bounds.dropFirst()).allSatisfy { $0 <= $1 }
    }

    /// Compares the counts of the members with the messages that they hold.
    func checkCounts(_ comment: Comment, sourceLocation: SourceLocation = #_sourceLocation) {
        for member in durable._members.all {
            var (cursor, redeliveries) = (durable._cursor, durable._redeliveries)
            let held =
                cursor.takeAll(from: member.id).count + redeliveries.ended(member.id).count
            #expect(member.unacknowledged == held, comment, sourceLocation: sourceLocation)
        }
        let sum = durable._members.all.reduce(0) { $0 + $1.unacknowledged }
        #expect(durable.unacknowledged == sum, comment, sourceLocation: sourceLocation)
        #expect(durable.memberCount == members.count, comment, sourceLocation: sourceLocation)
    }
}

extension Cursor {
    /// Takes out all messages that are in flight to a member for the first time.
    mutating func takeAll(from member: MemberID) -> [InFlightMessages.Taken] {
        takeAll(from: [member], after: 0, maximumCount: .max, maximumSearched: .max).messages
    }
}
