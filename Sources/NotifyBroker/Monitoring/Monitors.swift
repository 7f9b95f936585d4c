import DequeModule
import NotifyCenter
import NotifyWire

/// Records posts for one client. The client repeats its request; each request takes the posts recorded since the
/// previous request.
struct Monitor {
    /// The maximum memory of the recorded posts, in bytes.
    static let maximumBytes = 256 << 10
    /// The maximum number of posts per second that are recorded. Further posts are skipped.
    static let maximumPostsPerSecond = 5_000
    /// For a client that may not manage everything, the maximum number of posts per second that are compared with its
    /// patterns. Further posts are skipped.
    static let maximumComparisonsPerSecond = 20_000

    let connection: ConnectionID
    let uid: UInt32
    let patterns: [NamePattern]
    /// Whether the client may see the refused posts of other users, and the policy rules that forbid them.
    let isManager: Bool
    /// The time at which recording ends, unless the client asks again.
    fileprivate var deadline: Duration
    /// The recorded posts whose outcome is known.
    private(set) var known: Deque<PostEntry> = []
    /// The recorded posts that wait for a commit, in order of sequence.
    private var waiting: [PostEntry] = []
    private var byteCount = 0
    /// The number of posts skipped since the last recorded one.
    private var skipped: UInt64 = 0
    private var comparisons = TokenBucket()
    private var bucket = TokenBucket()

    init(connection: ConnectionID, uid: UInt32, patterns: [NamePattern], isManager: Bool, deadline: Duration) {
        self.connection = connection
        self.uid = uid
        self.patterns = patterns
        self.isManager = isManager
        self.deadline = deadline
    }

    /// Returns whether to record a post under the name. The caller checks whether the client may see the post. A post
    /// counts as skipped if it exceeds a limit of comparisons or of recorded posts.
    mutating func selects(_ name: UnsafeRawBufferPointer, now: Duration) -> Bool {
        guard isManager || comparisons.take(perSecond: Self.maximumComparisonsPerSecond, now: now) == nil else {
            skipped += 1
            return false
        }
        let isMatch = patterns.contains { $0.matches(utf8: name) && ReservedNames.isVisible(name, to: $0) }
        guard isMatch else { return false }
        if byteCount < Self.maximumBytes, bucket.available(perSecond: Self.maximumPostsPerSecond, now: now) > 0 {
            return true
        }
        skipped += 1
        return false
    }

    /// Records a selected post.
    ///
    /// - Parameter isWaiting: Whether the outcome of the post is known only after a commit.
    mutating func record(_ entry: PostEntry, isWaiting: Bool, now: Duration) {
        _ = bucket.take(perSecond: Self.maximumPostsPerSecond, now: now)
        var entry = entry
        entry.skipped = skipped
        skipped = 0
        byteCount += entry.byteCount
        if isWaiting { waiting.append(entry) } else { known.append(entry) }
    }

    /// Records the outcome of the waiting posts up to a sequence.
    ///
    /// - Parameter error: The error with which the posts were refused; nil if they were committed.
    mutating func committed(through sequence: UInt64, error: WireError?) {
        let count = waiting.prefix { $0.stamp.sequence <= sequence }.count
        for var entry in waiting.prefix(count) {
            let bytes = entry.byteCount
            if let error { entry.refused(error) }
            byteCount += entry.byteCount - bytes
            known.append(entry)
        }
        waiting.removeFirst(count)
    }

    /// Takes the oldest recorded post whose outcome is known.
    mutating func next() -> PostEntry? {
        guard let post = known.popFirst() else { return nil }
        byteCount -= post.byteCount
        return post
    }

    /// Discards the recorded posts, and counts them as skipped.
    mutating func discardRecorded() {
        skipped += UInt64(known.count + waiting.count)
        (known, waiting, byteCount) = ([], [], 0)
    }
}

extension PostEntry {
    mutating func refused(_ error: WireError) {
        errorCode = error.code.rawValue
        reason = error.message
        stamp.sequence = 0
        (subscribers, stored) = (0, 0)
    }
}

/// The monitors of all clients, at most one for each connection.
struct Monitors {
    /// The maximum number of monitors. Limited because each monitor compares every post with its patterns.
    static let maximumCount = 8
    /// The maximum number of monitors of clients that may not manage everything, in total and for each user.
    static let maximumCountOfOthers = 4
    static let maximumCountPerUser = 2
    /// The time for which posts are recorded after a request.
    static let lease = Duration.seconds(10)
    /// The memory charged for the recorded posts of a monitor. Includes a reserve, because the last recorded post may
    /// exceed the limit.
    static let chargedBytes = Monitor.maximumBytes + (64 << 10)

    var all: [Monitor] = []

    var isEmpty: Bool { all.isEmpty }
    var deadline: Duration? { all.lazy.map(\.deadline).min() }

    /// Extends the lease of a connection's monitor.
    ///
    /// - Returns: The number of recorded posts whose outcome is known; nil if the connection has no monitor with these
    ///   patterns and this `isManager`.
    mutating func extend(_ connection: ConnectionID, _ patterns: [NamePattern], isManager: Bool, now: Duration) -> Int?
    {
        guard let index = all.firstIndex(where: { $0.connection == connection }), all[index].patterns == patterns,
            all[index].isManager == isManager
        else { return nil }
        all[index].deadline = now + Self.lease
        return all[index].known.count
    }

    /// Takes the oldest post recorded for a connection; nil if there is none.
    mutating func next(for connection: ConnectionID) -> PostEntry? {
        all.firstIndex { $0.connection == connection }.flatMap { all[$0].next() }
    }

    /// Discards all recorded posts, because rights have changed.
    mutating func discardRecorded() {
        for index in all.indices { all[index].discardRecorded() }
    }

    /// Begins to record posts for a connection that has no monitor.
    ///
    /// - Throws: `limitReached` if there are too many monitors, in total or of this user.
    mutating func add(
        for connection: ConnectionID, uid: UInt32, _ patterns: [NamePattern], isManager: Bool, now: Duration
    ) throws(WireError) {
        let others = all.filter { !$0.isManager }
        guard all.count < Self.maximumCount,
            isManager
                || others.count < Self.maximumCountOfOthers
                    && others.count(where: { $0.uid == uid }) < Self.maximumCountPerUser
        else {
            throw WireError(
                .limitReached,
                "too many clients monitor posts: the limit is \(Self.maximumCount) clients, of which "
                    + "\(Self.maximumCountOfOthers) (\(Self.maximumCountPerUser) of each user) may lack the right to manage "
                    + "everything")
        }
        all.append(
            Monitor(
                connection: connection, uid: uid, patterns: patterns, isManager: isManager,
                deadline: now + Self.lease))
    }

    /// Ends the monitor of a connection.
    ///
    /// - Returns: Whether the connection had a monitor.
    mutating func remove(_ connection: ConnectionID) -> Bool {
        guard let index = all.firstIndex(where: { $0.connection == connection }) else { return false }
        all.remove(at: index)
        return true
    }

    /// Ends the monitors whose lease has expired.
    ///
    /// - Returns: The uid of each ended monitor's user.
    mutating func expire(now: Duration) -> [UInt32] {
        let expired = all.filter { $0.deadline <= now }
        if !expired.isEmpty { all.removeAll { $0.deadline <= now } }
        return expired.map(\.uid)
    }

    /// Records the outcome of a batch.
    mutating func committed(through sequence: UInt64?, error: WireError? = nil) {
        guard let sequence else { return }
        for index in all.indices { all[index].committed(through: sequence, error: error) }
    }
}
