import NotifyLog

/// The unacknowledged messages of durable subscriptions as the store counted them last, and the lists that wait for
/// another count.
struct Backlogs {
    /// The age at which counts are no longer reported.
    static let maximumAge = Duration.seconds(5)
    /// How long a list waits for the store.
    static let patience = Duration.milliseconds(100)
    /// Counting takes at most one part in this number of the store's time.
    private static let share = 20

    private var known: [DurableID: Backlog] = [:]
    /// When the known counts were requested, and how long counting took.
    private var measured: (at: Duration, took: Duration)?
    /// When the store was asked; nil if it is not counting.
    private(set) var started: Duration?
    private var waiting: [ConnectionID] = []
    /// The time at which waiting lists continue without another count.
    private(set) var deadline: Duration?

    subscript(id: DurableID) -> Backlog? { known[id] }

    /// What a list does before its first entry.
    struct Decision: Equatable {
        /// Whether the store must be asked.
        var asks = false
        /// Whether the list waits.
        var waits = false
    }

    mutating func requested(by connection: ConnectionID, now: Duration) -> Decision {
        dropOutdated(now: now)
        if let measured, started == nil, now - measured.at < min(measured.took * Self.share, .seconds(4)) {
            return Decision()
        }
        let asks = started == nil
        if asks { started = now }
        waiting.append(connection)
        deadline = deadline ?? now + Self.patience
        return Decision(asks: asks, waits: true)
    }

    /// Records the store's answer.
    ///
    /// - Returns: The connections whose lists continue.
    mutating func measured(_ backlogs: [DurableID: Backlog], now: Duration) -> [ConnectionID] {
        if let started {
            known = backlogs
            measured = (started, now - started)
        }
        started = nil
        return takeWaiting()
    }

    /// Returns the connections whose lists have waited long enough.
    mutating func takeExpired(now: Duration) -> [ConnectionID] {
        guard let deadline, deadline <= now else { return [] }
        dropOutdated(now: now)
        return takeWaiting()
    }

    /// Forgets the count of a subscription that was changed, so that the next list waits for another one.
    mutating func forget(_ id: DurableID) {
        known[id] = nil
        measured?.took = .zero
    }

    private mutating func takeWaiting() -> [ConnectionID] {
        deadline = nil
        defer { waiting = [] }
        return waiting
    }

    private mutating func dropOutdated(now: Duration) {
        if let measured, now - measured.at > Self.maximumAge { known = [:] }
    }
}
