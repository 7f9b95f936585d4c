import NotifyLog

/// The store's latest counts of the unacknowledged messages of durable subscriptions, and the lists that wait for newer
/// counts.
struct Backlogs {
    /// Lists wait longer for newer counts if the known ones are older than this.
    static let maximumAge = Duration.seconds(5)
    /// The time for which a list waits for newer counts, if the known ones are not older than ``maximumAge``.
    static let patience = Duration.milliseconds(100)
    /// The time for which a list waits if no counts are known, or only older ones.
    static let longPatience = Duration.seconds(5)
    /// The age at which counts are no longer reported, unless the store is counting again.
    static let expiry = Duration.seconds(60)
    /// The minimum time from one request for counts to the next, as a multiple of the duration of counting. Limited to
    /// 4 seconds.
    private static let share = 20

    private var known: [DurableID: Backlog] = [:]
    /// The time at which the known counts were requested, and the duration of counting.
    private var measured: (at: Duration, took: Duration)?
    /// The time at which the store was asked to count; nil if it is not counting.
    private(set) var started: Duration?
    /// The lists that wait, and the time at which each continues without newer counts.
    private var waiting: [(connection: ConnectionID, end: Duration)] = []
    /// The earliest time at which a waiting list continues without newer counts.
    private(set) var deadline: Duration?

    subscript(id: DurableID) -> Backlog? { known[id] }

    /// The decision about a list that needs counts.
    struct Decision: Equatable {
        /// Whether the store must be asked.
        var asks = false
        /// Whether the list waits.
        var waits = false
    }

    mutating func requested(by connection: ConnectionID, now: Duration) -> Decision {
        let age = age(now: now)
        let asks = requested(now: now)
        guard started != nil else { return Decision() }
        let end = now + (age > Self.maximumAge ? Self.longPatience : Self.patience)
        waiting.append((connection, end))
        deadline = .earlier(deadline, end)
        return Decision(asks: asks, waits: true)
    }

    /// Requests newer counts, without a list that waits for them.
    ///
    /// - Returns: Whether the caller must ask the store to count. False if the store is counting, or has just counted.
    mutating func requested(now: Duration) -> Bool {
        guard started == nil else { return false }
        if let measured, now - measured.at < min(measured.took * Self.share, .seconds(4)) { return false }
        if age(now: now) > Self.expiry { known = [:] }
        started = now
        return true
    }

    private func age(now: Duration) -> Duration {
        measured.map { now - $0.at - $0.took } ?? .seconds(Int64.max)
    }

    /// Records the store's answer.
    ///
    /// - Returns: The connections whose lists continue.
    mutating func measured(_ backlogs: [DurableID: Backlog], now: Duration) -> [ConnectionID] {
        if let started {
            // Empty if the store can't count.
            if !backlogs.isEmpty { known = backlogs }
            measured = (started, now - started)
        }
        started = nil
        defer { (waiting, deadline) = ([], nil) }
        return waiting.map(\.connection)
    }

    /// Returns the connections whose lists have waited long enough.
    mutating func takeExpired(now: Duration) -> [ConnectionID] {
        guard let earliest = deadline, earliest <= now else { return [] }
        defer {
            waiting.removeAll { $0.end <= now }
            deadline = waiting.lazy.map(\.end).min()
        }
        return waiting.filter { $0.end <= now }.map(\.connection)
    }

    /// Forgets all counts, because rights have changed.
    mutating func forgetAll() {
        known = [:]
        measured?.took = .zero
    }

    /// Forgets the count of a subscription that was changed, so that the next list waits for a new count.
    mutating func forget(_ id: DurableID) {
        known[id] = nil
        measured?.took = .zero
    }
}
