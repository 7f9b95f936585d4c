import NotifyLog
import NotifyWire

/// A count of the messages that durable subscriptions have not acknowledged, from the newest segment to the oldest.
///
/// Names that are matched by the same subscriptions are counted together, as a group. A subscription is finished when
/// the survey comes to the segment that contains its cursor: its backlog is the sum of its groups so far. So the work
/// grows with the number of segments above the lowest cursor, and not with the product of segments and subscriptions. A
/// pure value: ``Log`` reads the segments.
struct BacklogSurvey {
    /// The most memberships of subscriptions in groups.
    private static let maximumMemberships = 4 << 20
    /// The most segments whose messages are read, because cursors are within them.
    private static let maximumScans = 128

    private struct Member {
        let subscription: StoredSubscriptions.Subscription
        let unusedMicroseconds: UInt64
        var groups: [Int32] = []

        var id: DurableID { subscription.id }
        var progress: DurableProgress { subscription.progress }
    }

    /// The properties that the names of a group have in common.
    private struct GroupKey: Hashable {
        let members: [Int32]
        let isDeadLetters: Bool
    }

    private struct Totals {
        let isDeadLetters: Bool
        var messages: UInt64 = 0
        var bytes: UInt64 = 0
        var oldest = UInt64.max
        /// The scanned messages of the current segment, from the newest to the oldest. The counts of each include those
        /// of the newer ones.
        var scanned: [(sequence: UInt64, messages: UInt64, bytes: UInt64, time: UInt64)] = []
    }

    /// A segment that is being counted.
    struct Current {
        var segment: Segment
        var entries: [SegmentEntry]
        /// The messages with lower sequences must still be scanned.
        var scannedDownTo: UInt64
        var isScanned = false
        /// Whether the entries were added to the totals.
        var isAdded = false
    }

    /// The access policy: a message counts for a subscription only if at least one of its identities
    /// (`DurableRecord.owners`) may receive the message. Nil if all messages count.
    let policy: AccessPolicy?
    /// The subscriptions, in descending order of their cursors. Those before `next` are finished.
    private var members: [Member]
    private var next = 0
    /// The index of each subscription in `members`, by its slot.
    private var indices: [Int32: Int32] = [:]
    private var groups: [Totals] = []
    private var memberships = 0
    private var groupsByKey: [GroupKey: Int32] = [:]
    /// The group of each name, by the name's number; -1 if the group is not known yet.
    private var groupsByName: [Int32] = []
    private var scannedGroups: Set<Int32> = []
    private var scans = 0
    private(set) var backlogs: [DurableID: Backlog] = [:]
    /// The subscriptions in `backlogs` whose copies of messages are still to be read.
    private var withUnreadCopies: [DurableID] = []
    /// The survey continues with the newest segment below this sequence.
    var below: UInt64
    var current: Current?

    /// - Parameter now: The log's time.
    init(
        _ subscriptions: [(slot: Int32, StoredSubscriptions.Subscription)], under policy: AccessPolicy?, below: UInt64,
        now: Duration
    ) {
        self.policy = policy
        self.below = below
        let sorted = subscriptions.sorted { $0.1.progress.cursor > $1.1.progress.cursor }
        members = sorted.map { _, subscription in
            Member(
                subscription: subscription,
                unusedMicroseconds: subscription.progress.isAttached
                    ? 0 : UInt64(max(0, (now - subscription.used).microseconds)))
        }
        for (index, subscription) in sorted.enumerated() { indices[subscription.slot] = Int32(index) }
        backlogs.reserveCapacity(members.count)
    }

    /// Whether every subscription is finished, or too much memory would be needed.
    var isFinished: Bool { next == members.count || memberships > Self.maximumMemberships }

    /// Takes a finished subscription whose copies are still to be read; nil if there is none.
    mutating func nextWithUnreadCopies() -> DurableID? { withUnreadCopies.popLast() }

    mutating func setOldestCopy(_ microseconds: UInt64?, of id: DurableID) {
        backlogs[id]?.oldestCopyMicroseconds = microseconds
    }

    /// The highest cursor of the unfinished subscriptions; nil if there is none.
    private var highestCursor: UInt64? { next < members.count ? members[next].progress.cursor : nil }

    // MARK: Groups

    /// The group of a name. `slots` is called once for each name. It returns the slots of the matching subscriptions,
    /// and whether messages of the name are dead letters.
    mutating func group(
        of name: NameTable.Number, _ slots: () -> (slots: [Int32], isDeadLetters: Bool)
    ) -> Int32 {
        if name.index >= groupsByName.count {
            groupsByName.append(contentsOf: repeatElement(-1, count: max(name.index + 1 - groupsByName.count, 64)))
        }
        if groupsByName[name.index] >= 0 { return groupsByName[name.index] }
        let (slots, isDeadLetters) = slots()
        let matching = slots.compactMap { indices[$0] }
        let key = GroupKey(members: matching, isDeadLetters: isDeadLetters)
        let group = groupsByKey[key] ?? Int32(groups.count)
        groupsByName[name.index] = group
        if Int(group) == groups.count {
            groups.append(Totals(isDeadLetters: isDeadLetters))
            groupsByKey[key] = group
            memberships += matching.count
            for member in matching { members[Int(member)].groups.append(group) }
        }
        return group
    }

    // MARK: Segments

    /// The next step with the current segment.
    enum Step {
        /// Scan messages below `scannedDownTo`.
        case scan
        /// Add the entries.
        case add
    }

    /// Decides the next step. Subscriptions with a cursor at or above the end of the segment must already be finished.
    func step(_ current: Current) -> Step {
        guard let cursor = highestCursor, cursor >= current.segment.first, !current.isScanned,
            scans < Self.maximumScans
        else { return .add }
        return .scan
    }

    /// Adds a scanned message. Must be called in descending order of sequences.
    mutating func scanned(_ sequence: UInt64, _ group: Int32, bytes: UInt64, time: UInt64) {
        let before = groups[Int(group)].scanned.last
        groups[Int(group)].scanned.append(
            (sequence, (before?.messages ?? 0) + 1, (before?.bytes ?? 0) + bytes, min(before?.time ?? .max, time)))
        scannedGroups.insert(group)
    }

    mutating func scanEnded() { scans += 1 }

    /// Adds the messages of an entry of the current segment.
    mutating func add(_ entry: SegmentEntry, _ group: Int32, of segment: Segment) {
        groups[Int(group)].messages += UInt64(entry.messages)
        groups[Int(group)].bytes += entry.bytes
        groups[Int(group)].oldest = min(groups[Int(group)].oldest, segment.earliest)
    }

    /// Forgets the scanned messages of the current segment.
    mutating func segmentEnded() {
        for group in scannedGroups { groups[Int(group)].scanned = [] }
        scannedGroups = []
    }

    // MARK: Subscriptions

    /// Finishes subscriptions with a cursor at or above a sequence, at most `limit` of them.
    ///
    /// - Parameter isInexact: Whether the cursors are within a segment that was not scanned. All of its messages then
    ///   count.
    /// - Returns: Whether all of these subscriptions are finished.
    mutating func finish(from sequence: UInt64, limit: Int = 256, isInexact: Bool = false) -> Bool {
        for _ in 0..<limit {
            guard let cursor = highestCursor, cursor >= sequence else { return true }
            let backlog = backlog(of: members[next], isInexact: isInexact)
            backlogs[members[next].id] = backlog
            withUnreadCopies.append(members[next].id)
            members[next].groups = []
            next += 1
        }
        return false
    }

    private func backlog(of member: Member, isInexact: Bool) -> Backlog {
        var backlog = Backlog(unusedMicroseconds: member.unusedMicroseconds)
        var oldest = UInt64.max
        var hasDeadLetters = false
        let progress = member.progress
        for group in member.groups {
            let totals = groups[Int(group)]
            let scanned = Self.count(above: progress.cursor, in: totals.scanned)
            if totals.isDeadLetters, totals.messages + scanned.messages > 0 { hasDeadLetters = true }
            backlog.messages += totals.messages + scanned.messages
            backlog.bytes += totals.bytes + scanned.bytes
            oldest = min(oldest, totals.oldest, scanned.time)
            for range in progress.acknowledged {
                let acknowledged = Self.count(above: range.first - 1, in: totals.scanned)
                let above = Self.count(above: range.last, in: totals.scanned)
                backlog.messages -= acknowledged.messages - above.messages
                backlog.bytes -= acknowledged.bytes - above.bytes
            }
        }
        let scannedThrough = current.map { $0.isScanned ? $0.segment.last : 0 } ?? 0
        let isScanned = progress.acknowledged.last.map { $0.last <= scannedThrough } ?? true
        if backlog.messages > 0 {
            backlog.oldestMicroseconds = oldest
            backlog.isUpperBound =
                isInexact || member.subscription.hasObject || !isScanned
                || (hasDeadLetters && member.subscription.mayLackDeadLetters(under: policy))
        }
        return backlog
    }

    /// The totals of the scanned messages above a sequence.
    private static func count(
        above sequence: UInt64, in scanned: [(sequence: UInt64, messages: UInt64, bytes: UInt64, time: UInt64)]
    ) -> (messages: UInt64, bytes: UInt64, time: UInt64) {
        var (low, high) = (0, scanned.count)
        while low < high {
            let middle = (low + high) / 2
            if scanned[middle].sequence > sequence { low = middle + 1 } else { high = middle }
        }
        guard low > 0 else { return (0, 0, .max) }
        return (scanned[low - 1].messages, scanned[low - 1].bytes, scanned[low - 1].time)
    }
}
