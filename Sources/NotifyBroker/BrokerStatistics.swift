import NotifyLog
import NotifyWire

/// Counters since the daemon's start, and the store's latest figures.
struct BrokerStatistics {
    var messagesIn: UInt64 = 0
    var delivered: UInt64 = 0
    var stored: UInt64 = 0
    var redelivered: UInt64 = 0
    /// Messages dropped from outboxes.
    var dropped: UInt64 = 0
    /// Messages dropped from clients' buffers, as reported by the clients.
    var droppedByClients: UInt64 = 0
    /// The number of times an outbox overflowed and messages were dropped.
    var gaps: UInt64 = 0
    /// Requests that were refused because the policy forbids them.
    var forbidden: UInt64 = 0
    /// Requests to servers that were accepted.
    var requests: UInt64 = 0
    /// Wills that could not be stored.
    var unstoredWills: UInt64 = 0
    /// Messages that became dead letters.
    var deadLetters: UInt64 = 0
    /// The number of messages deleted by retention or purged.
    var deleted: UInt64 = 0
    /// The failure of the last retention; nil while retention works.
    var retentionFailure: StorageFailure?
    var store = StoreStatistics()
}

extension Broker {
    /// Every figure of the daemon.
    func counters(now: BrokerTime) -> [StatisticsReport.Counter] {
        Statistic.allCases.map { .init(name: $0.rawValue, value: value(of: $0, now: now)) }
    }

    private func value(of statistic: Statistic, now: BrokerTime) -> UInt64 {
        switch statistic {
        case .uptimeSeconds: UInt64((now.monotonic - daemon.started.monotonic).components.seconds)
        case .connections: UInt64(connections.count)
        case .subscriptions: UInt64(subscriptions.volatileCount + durables.attachedCount)
        case .durableSubscriptions: UInt64(durables.count)
        case .messagesIn: statistics.messagesIn
        case .delivered: statistics.delivered
        case .stored: statistics.stored
        case .commits: statistics.store.commits
        case .syncs: statistics.store.syncs
        case .pagesRead: statistics.store.pagesRead
        case .redelivered: statistics.redelivered
        case .dropped: statistics.dropped
        case .droppedByClients: statistics.droppedByClients
        case .gaps: statistics.gaps
        case .forbidden: statistics.forbidden
        case .requests: statistics.requests
        case .openRequests: UInt64(services.callCount)
        case .announcements: UInt64(announcements.count)
        case .unstoredWills: statistics.unstoredWills
        case .servers: UInt64(services.serverCount)
        case .deadLetters: statistics.deadLetters
        case .deletedMessages: statistics.deleted
        case .damagedMessages: commits.damage.messages
        case .firstDamagedSequence: commits.damage.ranges.first?.first ?? 0
        case .lastDamagedSequence: commits.damage.ranges.last?.last ?? 0
        case .storageWorks: commits.health.failure == nil ? 1 : 0
        case .logMessages: statistics.store.logMessages
        case .logBytes: statistics.store.logBytes
        case .walBytes: statistics.store.walBytes
        case .memoryBytes: UInt64(ledger.totalBytes + sharedBytes)
        case .memoryLimitBytes: UInt64(ledger.memoryLimit)
        case .socketBytes: UInt64(ledger.total(of: .socketBytes))
        }
    }

    /// The maximum number of users in one report: a report has at most 65,535 counters, about 30 of them for each user.
    private static let reportedUsers = 1_000

    /// The usage and limits of memory, connections and the log in total, and of every resource for each of the first
    /// 1,000 `users`. If there are more users, a counter has the number of the others.
    func limits(of users: [UInt32], now: BrokerTime) -> [StatisticsReport.Counter] {
        var totals = usesInTotal + [logUse].compactMap { $0 }
        if users.count > Self.reportedUsers {
            totals.append(ResourceUse("unlisted_users", users.count - Self.reportedUsers, limit: nil))
        }
        var counters = totals.flatMap { $0.counters(prefix: "") }
        for (uid, limits) in access.limits(of: users.prefix(Self.reportedUsers)) {
            counters += uses(of: uid, limits, now: now).flatMap { $0.counters(prefix: "user.\(uid).") }
        }
        return counters
    }

    /// The users that hold a resource or have messages in the log, in ascending order.
    var knownUsers: [UInt32] { Set(ledger.users).union(ledger.stored.users).sorted() }

    /// The used amounts of the resources that are limited for all users together.
    var usesInTotal: [ResourceUse] {
        let valueLimit = configuration.valueBytes
        return [
            ResourceUse("memory_bytes", ledger.totalBytes + sharedBytes, limit: ledger.memoryLimit),
            ResourceUse("connections", connections.count + connections.leftSockets, limit: configuration.connections),
            ResourceUse("value_bytes", values.totalBytes, limit: valueLimit == .max ? nil : valueLimit),
        ]
    }

    /// The size of the log, without the database's unused pages and with its write-ahead log; nil if the size has no
    /// limit. Not in `usesInTotal`, which is checked for warnings: the size of the log has a warning of its own.
    private var logUse: ResourceUse? {
        statistics.store.logByteLimit.map {
            ResourceUse("log_used_bytes", Int(clamping: statistics.store.usedBytes), limit: Int(clamping: $0))
        }
    }

    /// The amounts of each resource that a user uses.
    func uses(of uid: UInt32, _ limits: UserLimits, now: BrokerTime) -> [ResourceUse] {
        let held = ledger.bytes(of: uid)
        var uses = [ResourceUse("memory_bytes", held, limit: max(0, held + ledger.room(of: uid)))]
        if let limit = limits.postsPerSecond {
            let used = ledger.rates.postsUsed(by: uid, perSecond: limit, now: now.monotonic)
            uses.append(ResourceUse("posts_per_second", used, limit: limit))
        }
        if let limit = limits.connectsPerSecond {
            let used = ledger.rates.connectsUsed(by: uid, perSecond: limit, now: now.monotonic)
            uses.append(ResourceUse("connects_per_second", used, limit: limit))
        }
        let stored = ledger.stored.usage(of: uid)
        uses.append(ResourceUse("stored_messages", stored.messages, limit: nil))
        let limit = limits.storedBytes.map(Int.init(clamping:))
        uses.append(ResourceUse("stored_bytes", stored.postedBytes, limit: limit))
        uses.append(ResourceUse("failed_bytes", ledger.stored.failedBytes(of: uid), limit: limit))
        for resource in Ledger.Resource.allCases {
            let limit = ledger.limit(of: resource)
            uses.append(
                ResourceUse(
                    resource.name, ledger.amount(of: resource, uid: uid), limit: limit == .max ? nil : limit))
        }
        return uses
    }
}

/// The used amount of a resource, and the limit if there is one.
struct ResourceUse {
    let resource: String
    let used: Int
    let limit: Int?

    init(_ resource: String, _ used: Int, limit: Int?) {
        self.resource = resource
        self.used = max(0, used)
        self.limit = limit
    }

    fileprivate func counters(prefix: String) -> [StatisticsReport.Counter] {
        let use = StatisticsReport.Counter(name: prefix + resource, value: UInt64(used))
        guard let limit else { return [use] }
        return [use, StatisticsReport.Counter(name: "\(prefix)\(resource).limit", value: UInt64(limit))]
    }
}
