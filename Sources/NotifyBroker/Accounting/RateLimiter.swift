import DequeModule

/// Limits the rates of posts and of new connections for each user. Holds the connections that wait because their user
/// posts too fast.
struct RateLimiter {
    /// The waiting connections of a user, in order of arrival.
    private struct Queue {
        var connections: Deque<ConnectionID> = []
        var wakeAt: Duration
        var rate: Int
    }

    private var posts: [UInt32: TokenBucket] = [:]
    private var connects: [UInt32: TokenBucket] = [:]
    private var queues: [UInt32: Queue] = [:]
    /// The time at which ``takeReady(now:)`` must be called; nil if there is none. May be too early, because removing
    /// a connection does not postpone it: ``takeReady(now:)`` does.
    private(set) var nextDeadline: Duration?

    /// Takes a token for a post. If no token is available, the connection waits until ``takeReady(now:)`` returns it.
    ///
    /// - Returns: Whether the post is within the limit.
    mutating func takePost(of uid: UInt32, perSecond rate: Int, from id: ConnectionID, now: Duration) -> Bool {
        guard let time = posts[uid, default: TokenBucket()].take(perSecond: rate, now: now) else { return true }
        queues[uid, default: Queue(wakeAt: time, rate: rate)].connections.append(id)
        nextDeadline = min(nextDeadline ?? time, time)
        return false
    }

    /// Takes a token for a new connection.
    ///
    /// - Returns: Whether the connection is within the limit.
    mutating func takeConnect(of uid: UInt32, perSecond rate: Int, now: Duration) -> Bool {
        if connects.count > Self.maximumBuckets { connects = connects.filter { !$0.value.isFull(now: now) } }
        return connects[uid, default: TokenBucket()].take(perSecond: rate, now: now) == nil
    }

    private static let maximumBuckets = 1_024
    /// The minimum time between two wake-ups of a user's connections. Several tokens accumulate in this time, so one
    /// wake-up serves several connections.
    private static let minimumWait = Duration.milliseconds(1)

    /// Takes the connections that can continue: for each user, as many connections as the user has tokens.
    mutating func takeReady(now: Duration) -> [ConnectionID] {
        guard let nextDeadline, nextDeadline <= now else { return [] }
        var ready: [ConnectionID] = []
        for uid in Array(queues.keys) {
            // The queue is removed from the dictionary while it changes, so that it is not copied.
            guard var queue = queues.removeValue(forKey: uid) else { continue }
            if queue.wakeAt <= now {
                let tokens = max(1, posts[uid]?.available(perSecond: queue.rate, now: now) ?? 1)
                ready += queue.connections.prefix(tokens)
                queue.connections.removeFirst(min(tokens, queue.connections.count))
                queue.wakeAt = now + max(Self.minimumWait, .seconds(1) / queue.rate)
            }
            if !queue.connections.isEmpty { queues[uid] = queue }
        }
        posts = posts.filter { !$0.value.isFull(now: now) }
        self.nextDeadline = queues.values.lazy.map(\.wakeAt).min()
        return ready
    }

    /// Removes a waiting connection that is closed.
    mutating func remove(_ id: ConnectionID, uid: UInt32) {
        guard var queue = queues.removeValue(forKey: uid) else { return }
        queue.connections.removeAll { $0 == id }
        if !queue.connections.isEmpty { queues[uid] = queue }
    }

    /// Takes all waiting connections. Called when limits have changed.
    mutating func takeAll() -> [ConnectionID] {
        defer { (queues, nextDeadline) = ([:], nil) }
        return queues.values.flatMap(\.connections)
    }

    // MARK: Use

    /// The number of tokens for posts that the user has used and that are not available again yet.
    func postsUsed(by uid: UInt32, perSecond rate: Int, now: Duration) -> Int {
        rate - (posts[uid]?.available(perSecond: rate, now: now) ?? rate)
    }

    /// The number of tokens for connections that the user has used and that are not available again yet.
    func connectsUsed(by uid: UInt32, perSecond rate: Int, now: Duration) -> Int {
        rate - (connects[uid]?.available(perSecond: rate, now: now) ?? rate)
    }
}
