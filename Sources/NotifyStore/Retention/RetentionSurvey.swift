import NotifyLog

/// A pass over the closed segments, from the newest to the oldest, that finds the messages that the rules no longer
/// keep.
///
/// For each rule, the pass adds up the messages that it has seen. Once a limit is reached, all older messages of the
/// rule are deleted, so a rule keeps at most one segment more than its limits. A pure value: ``Log`` reads the segments
/// and deletes.
struct RetentionSurvey {
    /// The decision of a rule about an entry of a segment.
    enum Verdict: Equatable {
        case keep
        /// Delete the messages: every matching subscription has read them, and they exceed the history that the rule
        /// keeps.
        case delete
        /// Delete the messages: they exceed a hard limit. Subscriptions that have not read them lose them.
        case drop
    }

    private struct Totals {
        var bytes: UInt64 = 0
        var messages: UInt64 = 0
        var historyBytes: UInt64 = 0
    }

    /// The progress of a user with a name: the sequence up to which all of the user's subscriptions that match the name
    /// have read its messages.
    struct Claim: Hashable {
        var uid: UInt32
        var cursor: UInt64
    }

    /// The rule of a name, and the sequence up to which every matching subscription has read its messages.
    struct NameState {
        fileprivate(set) var rule: Int
        /// The index in `totals`.
        fileprivate var totals = 0
        /// `UInt64.max` if no subscription matches.
        fileprivate(set) var readThrough: UInt64
        /// The index in `claimLists`.
        fileprivate var claims: Int
    }

    /// The progress of deleting history from a log that is nearly full.
    struct Room {
        /// The bytes of messages that must still be deleted.
        var needed: UInt64
        /// The segments up to this sequence were examined.
        var position: UInt64 = 0
    }

    private struct CachedState {
        var pass: UInt32 = 0
        var state = NameState(rule: 0, readThrough: 0, claims: 0)
        /// Whether a segment has a message of the name.
        var isReferred = false
    }

    let now: Duration
    /// The pass continues with the newest segment below this sequence.
    var below = UInt64(Int64.max)
    /// The id of the next new name when the pass began. Later names are not examined.
    let nextName: UInt32
    private let rules: [RetentionRule]
    /// The totals of each rule, followed by the totals of each name to which its rule applies separately.
    private var totals: [Totals]
    /// The indices in `totals` of names, by the index of the name.
    private var totalsOfNames: [Int: Int] = [:]
    private var states: [CachedState] = []
    /// Incremented when the cached states become outdated.
    private var pass: UInt32 = 1
    /// The distinct lists of claims. Most names share their list with other names.
    private var claimLists: [[Claim]] = [[]]
    private var claimNumbers: [[Claim]: Int] = [[]: 0]

    /// The most bytes that the subscriptions of a user may hold back; nil for no limit.
    private let backlogLimit: UInt64?
    /// The bytes that the subscriptions of each user hold back: in the segments seen so far, and in copies of messages.
    private(set) var backlogs: [UInt32: UInt64] = [:]
    /// The users whose subscriptions hold back too much, each with the sequence up to which the subscriptions must give
    /// up their messages.
    private(set) var releases: [UInt32: UInt64] = [:]
    /// The first sequence of the segment that was released last.
    var releasedFrom: UInt64?
    /// The time at which a message that is kept becomes too old; nil for never.
    private(set) var deadline: Duration?
    /// The last examined copy of a message. Copies are examined in the order of age and id.
    var copyPosition = (kept: Duration.microseconds(-1), id: UInt64(0))
    /// The deletion of history from a log that is nearly full; nil until the pass comes to that step.
    var room: Room?

    /// - Parameter copyBytes: The bytes of the copies of each user's subscriptions.
    init(_ policy: RetentionPolicy, now: Duration, nextName: UInt32, copyBytes: [UInt32: Int] = [:]) {
        rules = policy.rules
        backlogLimit = policy.backlogBytes
        if backlogLimit != nil { backlogs = copyBytes.mapValues { UInt64($0) } }
        self.now = now
        self.nextName = nextName
        totals = Array(repeating: Totals(), count: rules.count)
    }

    /// Forgets which messages are read. Must be called when messages that were read may be unread again.
    mutating func subscriptionsChanged() {
        pass += 1
        claimLists = [[]]
        claimNumbers = [[]: 0]
        // `releases` stays. Otherwise a user above the limit could prevent releases by creating subscriptions again and
        // again.
    }

    /// Returns the state of a name. `find` is called once for each name, and again after `subscriptionsChanged`.
    mutating func state(of name: NameTable.Number, _ find: () -> (rule: Int, claims: [Claim])) -> NameState {
        let index = name.index
        makeRoom(for: index)
        if states[index].pass != pass {
            states[index].pass = pass
            let (rule, claims) = find()
            states[index].state = NameState(
                rule: rule, totals: rules[rule].isPerName ? totals(ofNameAt: index) : rule,
                readThrough: claims.reduce(.max) { min($0, $1.cursor) }, claims: number(of: claims))
        }
        return states[index].state
    }

    private mutating func totals(ofNameAt name: Int) -> Int {
        if let index = totalsOfNames[name] { return index }
        totals.append(Totals())
        totalsOfNames[name] = totals.count - 1
        return totals.count - 1
    }

    private mutating func number(of claims: [Claim]) -> Int {
        if let number = claimNumbers[claims] { return number }
        claimLists.append(claims)
        claimNumbers[claims] = claimLists.count - 1
        return claimLists.count - 1
    }

    /// Notes that a segment keeps a message of the name.
    mutating func refers(to name: NameTable.Number) {
        makeRoom(for: name.index)
        states[name.index].isReferred = true
    }

    private mutating func makeRoom(for index: Int) {
        guard index >= states.count else { return }
        states.append(contentsOf: repeatElement(CachedState(), count: max(index + 1 - states.count, states.count, 64)))
    }

    /// Whether a segment keeps a message of the name, as noted so far.
    func isReferred(_ name: NameTable.Number) -> Bool {
        name.index < states.count && states[name.index].isReferred
    }

    /// Adds an entry of the open segment.
    mutating func add(_ entry: SegmentEntry, _ state: NameState, through last: UInt64) {
        add(entry, state)
        _ = hold(entry, state, through: last)
    }

    /// Adds an entry to the backlogs of the users that have not read it.
    ///
    /// - Returns: The users whose backlog exceeds the limit.
    private mutating func hold(_ entry: SegmentEntry, _ state: NameState, through last: UInt64) -> [UInt32] {
        guard let backlogLimit else { return [] }
        var exceeding: [UInt32] = []
        for claim in claimLists[state.claims] where claim.cursor < last {
            backlogs[claim.uid, default: 0] += entry.bytes
            if backlogs[claim.uid] ?? 0 > backlogLimit { exceeding.append(claim.uid) }
        }
        return exceeding
    }

    private mutating func add(_ entry: SegmentEntry, _ state: NameState) {
        totals[state.totals].bytes += entry.bytes
        totals[state.totals].messages += UInt64(entry.messages)
    }

    /// Decides about an entry of a closed segment. Entries must be given from the newest segment to the oldest.
    mutating func judge(_ entry: SegmentEntry, _ state: NameState, in row: SegmentRow) -> Verdict {
        let rule = rules[state.rule]
        let before = totals[state.totals]
        let age = now - row.closed
        add(entry, state)
        if rule.maximumAge.map({ age >= $0 }) ?? false || rule.maximumBytes.map({ before.bytes >= $0 }) ?? false
            || rule.maximumMessages.map({ before.messages >= $0 }) ?? false
        {
            return .drop
        }
        if let limit = rule.maximumAge { note(deadline: row.closed + limit) }
        guard state.readThrough >= row.segment.last else {
            for uid in hold(entry, state, through: row.segment.last) where releases[uid] == nil {
                releases[uid] = row.segment.last
            }
            return .keep
        }
        totals[state.totals].historyBytes += entry.bytes
        if rule.historyAge.map({ age >= $0 }) ?? false || rule.historyBytes.map({ before.historyBytes >= $0 }) ?? false
        {
            return .delete
        }
        if let limit = rule.historyAge { note(deadline: row.closed + limit) }
        return .keep
    }

    mutating func note(deadline: Duration) {
        self.deadline = min(self.deadline ?? deadline, deadline)
    }
}
