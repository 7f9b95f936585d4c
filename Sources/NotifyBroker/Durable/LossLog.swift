import NotifyLog

/// Decides which losses are logged.
///
/// The first loss of a subscription is logged at once. Its losses within the next minute are added up, and logged at
/// the end of the minute. A purge deletes in parts. The losses that it causes count as one loss at its end. Ten
/// subscriptions per second are named; one line per minute counts the others.
struct LossLog {
    /// The reason why a subscription has lost messages.
    enum Reason {
        case backlog, forbidden, purge, rules, withheld
    }

    /// A line of the daemon's log about the losses of a subscription.
    struct Report: Equatable {
        let id: DurableID
        var loss: Loss
        var reason: Reason
        /// Whether an earlier loss was logged a minute ago.
        var isLater = false
    }

    private static let interval = Duration.seconds(60)
    private static let perSecond = 10
    /// The time for which subscriptions that are not named are counted before the first line about them.
    private static let countingTime = Duration.seconds(1)

    private var all = TokenBucket()
    /// For each named subscription, the end of its minute, and its losses since it was named. `all` limits the number
    /// of entries.
    private var named: [DurableID: (end: Duration, later: Report?)] = [:]
    /// The losses of each subscription because of the purge in progress.
    private var purged: [DurableID: Loss] = [:]
    /// The time of the last deletion by the purge in progress.
    private var lastPurged = Duration.zero
    /// The subscriptions that were not named.
    private var others: Set<DurableID> = []
    private var othersDue: Duration?
    private var othersLogged: Duration?
    private var roomMade: Duration?
    /// The time at which a report may be due.
    private(set) var deadline: Duration?

    /// Records that a subscription has lost messages.
    ///
    /// - Returns: The line to log now; nil if there is none.
    mutating func lost(_ loss: Loss, of id: DurableID, _ reason: Reason, now: Duration) -> Report? {
        if named[id] == nil { return name(Report(id: id, loss: loss, reason: reason), now: now) }
        if named[id]?.later?.loss.add(loss) == nil {
            named[id]?.later = Report(id: id, loss: loss, reason: reason, isLater: true)
        }
        named[id]?.later?.reason = reason
        return nil
    }

    /// Records the loss that a part of a purge causes for a subscription.
    mutating func purged(_ loss: Loss, of id: DurableID, now: Duration) {
        purged[id].add(loss)
        lastPurged = now
    }

    /// Must be called when the purge has ended or failed.
    ///
    /// - Returns: The lines to log now.
    mutating func purgeEnded(now: Duration) -> [Report] {
        defer { purged = [:] }
        return purged.sorted { $0.key < $1.key }.compactMap { lost($0.value, of: $0.key, .purge, now: now) }
    }

    /// Returns the report if its subscription may be named now, and otherwise counts the subscription.
    private mutating func name(_ report: Report, now: Duration) -> Report? {
        guard all.take(perSecond: Self.perSecond, now: now) == nil else {
            others.insert(report.id)
            let due = othersDue ?? max(now + Self.countingTime, othersLogged.map { $0 + Self.interval } ?? now)
            othersDue = due
            deadline = .earlier(deadline, due)
            return nil
        }
        let end = now + Self.interval
        named[report.id] = (end, nil)
        deadline = .earlier(deadline, end)
        return report
    }

    /// Takes the lines of subscriptions whose minute has passed.
    ///
    /// - Returns: The lines to log, and the number of subscriptions that were not named.
    mutating func takeDue(now: Duration) -> (reports: [Report], others: Int) {
        guard let deadline, deadline <= now else { return ([], 0) }
        self.deadline = nil
        var reports: [Report] = []
        for (id, minute) in named.filter({ $0.value.end <= now }).sorted(by: { $0.key < $1.key }) {
            named[id] = nil
            if let report = minute.later.flatMap({ name($0, now: now) }) { reports.append(report) }
        }
        for minute in named.values { self.deadline = .earlier(self.deadline, minute.end) }
        var count = 0
        if let due = othersDue, due <= now {
            count = others.count
            (others, othersDue, othersLogged) = ([], nil, now)
        }
        self.deadline = .earlier(self.deadline, othersDue)
        return (reports, count)
    }

    /// Takes all pending lines, including those of the purge in progress, because the daemon stops.
    mutating func takeAll() -> (reports: [Report], others: Int) {
        let ended = purgeEnded(now: lastPurged)
        defer { self = LossLog() }
        return (ended + named.values.compactMap(\.later).sorted { $0.id < $1.id }, others.count)
    }

    /// Whether to log that messages were deleted to make room.
    mutating func logsRoom(now: Duration) -> Bool {
        guard roomMade.map({ now - $0 >= Self.interval }) ?? true else { return false }
        roomMade = now
        return true
    }

    mutating func removed(_ id: DurableID) {
        named[id] = nil
        purged[id] = nil
        others.remove(id)
    }
}
