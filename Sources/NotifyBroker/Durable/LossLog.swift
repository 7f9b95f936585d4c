import NotifyLog

/// Decides which deletions of messages are logged: for each subscription at most one per minute, and ten per second in
/// total.
struct LossLog {
    private static let interval = Duration.seconds(60)
    private static let perSecond = 10

    private var all = TokenBucket()
    private var latest: [DurableID: Duration] = [:]
    private var roomMade: Duration?

    /// Whether to log what a subscription has lost.
    mutating func logs(_ id: DurableID, now: Duration) -> Bool {
        guard latest[id].map({ now - $0 >= Self.interval }) ?? true else { return false }
        guard all.take(perSecond: Self.perSecond, now: now) == nil else { return false }
        latest[id] = now
        return true
    }

    /// Whether to log that messages were deleted to make room.
    mutating func logsRoom(now: Duration) -> Bool {
        guard roomMade.map({ now - $0 >= Self.interval }) ?? true else { return false }
        roomMade = now
        return true
    }

    mutating func removed(_ id: DurableID) {
        latest[id] = nil
    }
}
