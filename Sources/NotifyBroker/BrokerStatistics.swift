import NotifyLog
import NotifyWire

/// Counters since the daemon started.
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
        case .logMessages: statistics.store.logMessages
        case .logBytes: statistics.store.logBytes
        case .walBytes: statistics.store.walBytes
        case .memoryBytes: UInt64(ledger.totalBytes + sharedBytes)
        case .memoryLimitBytes: UInt64(ledger.memoryLimit)
        }
    }

    /// The maximum number of users in one report, to keep it readable.
    private static let reportedUsers = 1_000

    /// The usage and limits of memory and connections in total, and of every resource for each of the first 1,000
    /// `users`.
    func limits(of users: [UInt32], now: BrokerTime) -> [StatisticsReport.Counter] {
        var counters = [
            StatisticsReport.Counter(name: "memory_bytes", value: UInt64(ledger.totalBytes + sharedBytes)),
            StatisticsReport.Counter(name: "memory_bytes.limit", value: UInt64(ledger.memoryLimit)),
            StatisticsReport.Counter(name: "connections", value: UInt64(connections.count)),
            StatisticsReport.Counter(name: "connections.limit", value: UInt64(configuration.connections)),
        ]
        for uid in users.prefix(Self.reportedUsers) {
            let held = ledger.bytes(of: uid)
            let share = max(0, held + ledger.room(of: uid))
            counters.append(StatisticsReport.Counter(name: "user.\(uid).memory_bytes", value: UInt64(held)))
            counters.append(StatisticsReport.Counter(name: "user.\(uid).memory_bytes.limit", value: UInt64(share)))
            for (name, use) in rateUse(of: uid, now: now) {
                counters.append(StatisticsReport.Counter(name: "user.\(uid).\(name)", value: UInt64(use.used)))
                counters.append(StatisticsReport.Counter(name: "user.\(uid).\(name).limit", value: UInt64(use.limit)))
            }
            for resource in Ledger.Resource.allCases {
                let name = "user.\(uid).\(resource.name)"
                let amount = UInt64(max(0, ledger.amount(of: resource, uid: uid)))
                counters.append(StatisticsReport.Counter(name: name, value: amount))
                let limit = ledger.limit(of: resource)
                guard limit != .max else { continue }
                counters.append(StatisticsReport.Counter(name: "\(name).limit", value: UInt64(limit)))
            }
        }
        return counters
    }

    /// The user's rates and their limits. Limits may depend on groups, so these are the limits of one of the user's
    /// identities.
    private func rateUse(of uid: UInt32, now: BrokerTime) -> [(String, (used: Int, limit: Int))] {
        let identity = access.anyIdentity(of: uid) ?? Identity(uid: uid, gid: .max)
        return [
            ("posts_per_second", rates.postUse(identity, now: now.monotonic)),
            ("connects_per_second", rates.connectUse(identity, now: now.monotonic)),
        ].compactMap { name, use in use.map { (name, $0) } }
    }
}
