import DequeModule

/// The pending notifications of a ``PostQueue``. Coalesces notifications and selects the next one; the caller posts it.
struct PostBacklog: Sendable {
    /// The criteria by which a notification is equal to a pending one.
    struct Equality: Sendable {
        var coalescing: PostQueue.Coalescing
        /// If not nil, the notification is equal only to notifications that were added with an equal key.
        var key: NotificationObject?

        static let nothing = Equality(coalescing: .nothing)
    }

    /// The outcome of adding a notification.
    struct Addition {
        var outcome: PostQueue.Outcome
        /// The notifications that were dropped.
        var dropped: [LocalNotification] = []
    }

    struct Entry {
        fileprivate var notification: LocalNotification
        fileprivate let key: NotificationObject?
        fileprivate let serial: UInt64
    }

    private let limit: Int
    /// The urgent entries, of the style ``PostQueue/PostingStyle/soon``.
    private var soon: Deque<Entry> = []
    /// The entries of the style ``PostQueue/PostingStyle/whenIdle``.
    private var idle: Deque<Entry> = []
    private var lastSerial: UInt64 = 0
    /// The last serial of the current turn. Later entries wait for the next turn.
    private var turnEnd: UInt64 = 0
    private var isTurnIdle = false

    init(limit: Int) {
        self.limit = limit
    }

    var count: Int { soon.count + idle.count }

    var isEmpty: Bool { soon.isEmpty && idle.isEmpty }

    mutating func add(
        _ notification: LocalNotification, _ style: PostQueue.PostingStyle, _ equality: Equality,
        keeping: PostQueue.Keeping
    ) -> Addition {
        if let addition = coalesce(notification, style, equality, keeping: keeping) { return addition }
        if count >= limit { return Addition(outcome: .refused) }
        append(notification, key: equality.key, style)
        return Addition(outcome: .queued)
    }

    mutating func remove(matching notification: LocalNotification, _ equality: Equality) -> [LocalNotification] {
        if equality.coalescing.isEmpty { return [] }
        return Self.remove(from: &soon, matching: notification, equality, after: 0)
            + Self.remove(from: &idle, matching: notification, equality, after: 0)
    }

    private mutating func append(
        _ notification: LocalNotification, key: NotificationObject?, _ style: PostQueue.PostingStyle
    ) {
        lastSerial += 1
        let entry = Entry(notification: notification, key: key, serial: lastSerial)
        if style == .whenIdle { idle.append(entry) } else { soon.append(entry) }
    }
}

// MARK: - Coalescing

extension PostBacklog {
    /// Coalesces a notification with pending ones that are equal.
    ///
    /// - Returns: The outcome, or nil if none is equal.
    private mutating func coalesce(
        _ notification: LocalNotification, _ style: PostQueue.PostingStyle, _ equality: Equality,
        keeping: PostQueue.Keeping
    ) -> Addition? {
        if equality.coalescing.isEmpty { return nil }
        if let first = soon.firstIndex(where: { $0.isEqual(to: notification, equality) }) {
            var dropped: [LocalNotification] = []
            if keeping == .latest { dropped.append(soon[first].replace(by: notification)) }
            dropped += Self.remove(from: &soon, matching: notification, equality, after: soon[first].serial)
            dropped += Self.remove(from: &idle, matching: notification, equality, after: 0)
            return Addition(outcome: .coalesced, dropped: dropped)
        }
        guard let first = idle.firstIndex(where: { $0.isEqual(to: notification, equality) }) else { return nil }
        var dropped: [LocalNotification] = []
        if keeping == .latest { dropped.append(idle[first].replace(by: notification)) }
        dropped += Self.remove(from: &idle, matching: notification, equality, after: idle[first].serial)
        // The index of the first entry is still valid, because only later entries were removed. If the new notification
        // is urgent, the entry moves to the urgent entries.
        if style == .soon {
            let urgent = idle.remove(at: first)
            append(urgent.notification, key: urgent.key, .soon)
        }
        return Addition(outcome: .coalesced, dropped: dropped)
    }

    private static func remove(
        from entries: inout Deque<Entry>, matching notification: LocalNotification, _ equality: Equality,
        after serial: UInt64
    ) -> [LocalNotification] {
        var removed: [LocalNotification] = []
        entries.removeAll { entry in
            guard entry.serial > serial, entry.isEqual(to: notification, equality) else { return false }
            removed.append(entry.notification)
            return true
        }
        return removed
    }
}

extension PostBacklog.Entry {
    fileprivate func isEqual(to other: LocalNotification, _ equality: PostBacklog.Equality) -> Bool {
        if equality.coalescing.contains(.name) && notification.name != other.name { return false }
        if let key = equality.key, key != self.key { return false }
        return !equality.coalescing.contains(.object) || notification.object == other.object
    }

    fileprivate mutating func replace(by notification: LocalNotification) -> LocalNotification {
        defer { self.notification = notification }
        return self.notification
    }
}

// MARK: - Turns

extension PostBacklog {
    /// Begins a turn. ``next()`` returns the urgent notifications that are pending now, or if there are none, the idle
    /// ones.
    mutating func beginTurn() {
        turnEnd = lastSerial
        isTurnIdle = soon.isEmpty
    }

    /// Removes and returns the next notification of this turn. An idle turn ends as soon as an urgent notification is
    /// pending.
    mutating func next() -> LocalNotification? {
        if !isTurnIdle { return Self.takeFirst(of: &soon, until: turnEnd) }
        return soon.isEmpty ? Self.takeFirst(of: &idle, until: turnEnd) : nil
    }

    private static func takeFirst(of entries: inout Deque<Entry>, until serial: UInt64) -> LocalNotification? {
        guard let first = entries.first, first.serial <= serial else { return nil }
        return entries.removeFirst().notification
    }
}
