import DequeModule

/// What waits in a ``PostQueue``. Decides what joins what and whose turn it is; posts nothing.
struct PostBacklog: Sendable {
    /// What became of a notification that was added.
    struct Addition {
        var outcome: PostQueue.Outcome
        /// What had to go for it.
        var dropped: [LocalNotification] = []
    }

    struct Entry {
        fileprivate var notification: LocalNotification
        fileprivate let serial: UInt64
    }

    private let limit: Int
    private var soon: Deque<Entry> = []
    private var idle: Deque<Entry> = []
    private var lastSerial: UInt64 = 0
    /// What came later than this waits for the next turn.
    private var turnEnd: UInt64 = 0
    private var isTurnIdle = false

    init(limit: Int) {
        self.limit = limit
    }

    var count: Int { soon.count + idle.count }

    var isEmpty: Bool { soon.isEmpty && idle.isEmpty }

    mutating func add(
        _ notification: LocalNotification, _ style: PostQueue.PostingStyle, joining: PostQueue.Joining,
        keeping: PostQueue.Keeping
    ) -> Addition {
        if let addition = join(notification, style, joining: joining, keeping: keeping) { return addition }
        if count >= limit { return Addition(outcome: .refused) }
        append(notification, style)
        return Addition(outcome: .queued)
    }

    mutating func remove(matching notification: LocalNotification, joining: PostQueue.Joining) -> [LocalNotification] {
        if joining.isEmpty { return [] }
        return Self.remove(from: &soon, matching: notification, joining, after: 0)
            + Self.remove(from: &idle, matching: notification, joining, after: 0)
    }

    private mutating func append(_ notification: LocalNotification, _ style: PostQueue.PostingStyle) {
        lastSerial += 1
        let entry = Entry(notification: notification, serial: lastSerial)
        if style == .whenIdle { idle.append(entry) } else { soon.append(entry) }
    }
}

// MARK: - Joining

extension PostBacklog {
    /// Lets a notification join the first one that is the same, if there is one.
    private mutating func join(
        _ notification: LocalNotification, _ style: PostQueue.PostingStyle, joining: PostQueue.Joining,
        keeping: PostQueue.Keeping
    ) -> Addition? {
        if joining.isEmpty { return nil }
        if let first = soon.firstIndex(where: { $0.isSame(as: notification, joining) }) {
            var dropped: [LocalNotification] = []
            if keeping == .latest { dropped.append(soon[first].replace(by: notification)) }
            dropped += Self.remove(from: &soon, matching: notification, joining, after: soon[first].serial)
            dropped += Self.remove(from: &idle, matching: notification, joining, after: 0)
            return Addition(outcome: .joined, dropped: dropped)
        }
        guard let first = idle.firstIndex(where: { $0.isSame(as: notification, joining) }) else { return nil }
        var dropped: [LocalNotification] = []
        if keeping == .latest { dropped.append(idle[first].replace(by: notification)) }
        dropped += Self.remove(from: &idle, matching: notification, joining, after: idle[first].serial)
        // The first is where it was: only what came after it has gone. If it has become urgent, it moves.
        if style == .soon { append(idle.remove(at: first).notification, .soon) }
        return Addition(outcome: .joined, dropped: dropped)
    }

    private static func remove(
        from entries: inout Deque<Entry>, matching notification: LocalNotification, _ joining: PostQueue.Joining,
        after serial: UInt64
    ) -> [LocalNotification] {
        var removed: [LocalNotification] = []
        entries.removeAll { entry in
            guard entry.serial > serial, entry.isSame(as: notification, joining) else { return false }
            removed.append(entry.notification)
            return true
        }
        return removed
    }
}

extension PostBacklog.Entry {
    fileprivate func isSame(as other: LocalNotification, _ joining: PostQueue.Joining) -> Bool {
        if joining.contains(.name) && notification.name != other.name { return false }
        return !joining.contains(.object) || notification.object == other.object
    }

    fileprivate mutating func replace(by notification: LocalNotification) -> LocalNotification {
        defer { self.notification = notification }
        return self.notification
    }
}

// MARK: - Turns

extension PostBacklog {
    /// What waits now is what ``next()`` hands out until the next call: what is urgent, or if nothing is, the rest.
    mutating func beginTurn() {
        turnEnd = lastSerial
        isTurnIdle = soon.isEmpty
    }

    /// Takes out the next one of this turn. One that is idle gives way as soon as there is something urgent.
    mutating func next() -> LocalNotification? {
        if !isTurnIdle { return Self.takeFirst(of: &soon, until: turnEnd) }
        return soon.isEmpty ? Self.takeFirst(of: &idle, until: turnEnd) : nil
    }

    private static func takeFirst(of entries: inout Deque<Entry>, until serial: UInt64) -> LocalNotification? {
        guard let first = entries.first, first.serial <= serial else { return nil }
        return entries.removeFirst().notification
    }
}
