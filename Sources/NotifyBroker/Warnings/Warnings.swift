import NotifyLog

/// A warning to operators, posted when its condition begins.
struct Warning: Equatable {
    enum Subject: Hashable {
        /// A limit of a user, or of all users together if `uid` is nil.
        case limit(resource: String, uid: UInt32?)
        case disk
        case log
        case failure
        case retention
        /// The messages that the durable subscriptions of a user hold back.
        case backlog(uid: UInt32)
        /// The durable subscription of a user that is furthest behind.
        case behind(uid: UInt32)
        /// The messages of a durable subscription that wait for their next delivery.
        case redeliveries(DurableID)
    }

    /// The name to post under.
    let name: String
    /// The user or durable subscription; empty if the warning is about the daemon.
    var object = ""
    /// The members of the payload, which is a JSON object.
    let figures: [(key: String, value: Figure)]
    /// One line for the daemon's log, without a final period.
    let text: String

    enum Figure: Equatable {
        case number(UInt64)
        case text(String)
    }

    static func == (left: Warning, right: Warning) -> Bool {
        left.name == right.name && left.object == right.object && left.text == right.text
            && left.figures.elementsEqual(right.figures, by: ==)
    }
}

/// The conditions that have caused warnings, and the time of the next check.
///
/// A check covers some of the users and durable subscriptions. A cycle is a series of checks that covers all of them.
///
/// A warning is repeated only after the condition has ended, and at most once a minute.
struct Warnings {
    private struct State {
        var isActive: Bool
        var warnedAt: Duration
        /// Whether the condition was updated in this cycle.
        var isChecked = true
    }

    /// A durable subscription that is behind.
    struct Lag {
        let name: String
        /// The number of its unacknowledged messages, or a low upper bound of it; nil if they are still to be counted,
        /// or if only a high upper bound is known.
        let behind: UInt64?
    }

    /// Whether the checks need newer counts of messages.
    private enum Counting {
        case none
        /// The store has been asked to count. The cycle of checks after its answer requests no counts.
        case requested
        case finished
    }

    /// The time between two checks while there is activity.
    static let interval = Duration.seconds(1)
    private static let minimumRepetition = Duration.seconds(60)
    /// The maximum number of users, and of durable subscriptions, in one check.
    static let itemsPerCheck = 256

    private var states: [Warning.Subject: State] = [:]
    /// The time of the next check; nil while the daemon is idle.
    private(set) var deadline: Duration?
    /// The index of the first user, and of the first durable subscription, of the next check.
    private(set) var position = 0
    /// The subscription of each user that is furthest behind, of those checked in this cycle.
    private(set) var furthestBehind: [UInt32: Lag] = [:]

    private var counting = Counting.none

    /// Whether another cycle follows, because messages were counted too recently to be counted again.
    private var isRepeated = false

    /// Whether newer counts of messages are to be requested. False in the cycle that follows an answer of the store.
    var needsCounts: Bool { counting == .none }

    /// Records that the store counts messages.
    mutating func countsRequested() { counting = .requested }

    /// Records that messages can't be counted again yet.
    mutating func countsPostponed() { isRepeated = true }

    /// Records that messages have been counted.
    mutating func counted(now: Duration) {
        guard counting == .requested else { return }
        counting = .finished
        schedule(now: now)
    }

    /// Schedules a check after activity, unless one is already scheduled.
    @inline(__always)
    mutating func schedule(now: Duration) {
        if deadline == nil { deadline = now + Self.interval }
    }

    /// Records how far a durable subscription is behind.
    mutating func note(_ lag: Lag, uid: UInt32) {
        guard let earlier = furthestBehind[uid] else { return furthestBehind[uid] = lag }
        if lag.behind ?? 0 > earlier.behind ?? 0 { furthestBehind[uid] = lag }
    }

    /// Ends a check.
    ///
    /// - Parameter count: The number of users or of durable subscriptions, whichever is larger. If the check did not
    ///   reach the last one, the next check is scheduled and continues the cycle.
    mutating func checked(of count: Int, now: Duration) {
        position += Self.itemsPerCheck
        guard position >= count else {
            deadline = now + Self.interval
            return
        }
        (deadline, position, furthestBehind) = (isRepeated ? now + Self.interval : nil, 0, [:])
        isRepeated = false
        if counting == .finished { counting = .none }
        endUnchecked(now: now)
    }

    /// Whether the next call of ``checked(of:now:)`` ends the cycle.
    func isLastCheck(of count: Int) -> Bool { position + Self.itemsPerCheck >= count }

    /// Ends the conditions that were not updated in this cycle, because their user or limit no longer exists. Forgets
    /// ended conditions whose minimum time between two warnings has passed.
    private mutating func endUnchecked(now: Duration) {
        for (subject, state) in states {
            if !state.isChecked { states[subject]?.isActive = false }
            states[subject]?.isChecked = false
        }
        states = states.filter { $0.value.isActive || now - $0.value.warnedAt < Self.minimumRepetition }
    }

    /// The number of conditions that are remembered.
    var count: Int { states.count }

    /// Records whether a condition has begun, continues or has ended.
    ///
    /// - Parameters:
    ///   - begins: Whether the present value is high enough to begin the condition.
    ///   - holds: Whether the present value is high enough to continue a condition that has begun. If its threshold is
    ///     lower than that of `begins`, a value that fluctuates between them causes only one warning.
    /// - Returns: Whether to warn now.
    mutating func update(_ subject: Warning.Subject, begins: Bool, holds: Bool, now: Duration) -> Bool {
        guard let state = states[subject] else {
            if begins { states[subject] = State(isActive: true, warnedAt: now) }
            return begins
        }
        states[subject]?.isChecked = true
        if state.isActive {
            states[subject]?.isActive = holds
            return false
        }
        guard begins, now - state.warnedAt >= Self.minimumRepetition else { return false }
        states[subject] = State(isActive: true, warnedAt: now)
        return true
    }
}
