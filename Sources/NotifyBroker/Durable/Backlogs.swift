import NotifyLog

/// The unacknowledged messages of durable subscriptions as the store counted them last, and the lists that wait for
/// another count.
struct Backlogs {
    /// The age from which a list waits longer for newer counts.
    static let maximumAge = Duration.seconds(5)
    /// How long a list waits for newer counts than those that are known.
    static let patience = Duration.milliseconds(100)
    /// How long a list waits if no counts are known, or only older ones.
    static let longPatience = Duration.seconds(5)
    /// The age at which counts are no longer reported, unless the store is counting again.
    static let expiry = Duration.seconds(60)
    /// Counting takes at most one part in this number of the store's time.
    private static let share = 20

    private var known: [DurableID: Backlog] = [:]
    /// When the known counts were requested, and how long counting took.
    private var measured: (at: Duration, took: Duration)?
    /// When the store was asked; nil if it is not counting.
    private(set) var started: Duration?
    /// The lists that wait, each until a time.
    private var waiting: [(connection: ConnectionID, end: Duration)] = []
    /// The time at which the first of the waiting lists continues without another count.
    private(set) var deadline: Duration?

    subscript(id: DurableID) -> Backlog? { known[id] }

    /// The step of a list before its first entry.
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

    /// Requests newer counts, for which no list waits.
    ///
    /// - Returns: Whether the store must be asked. If not, it is counting, or has just done so.
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

    /// Forgets the count of a subscription that was changed, so that the next list waits for another one.
    mutating func forget(_ id: DurableID) {
        known[id] = nil
        measured?.took = .zero
    }
}
