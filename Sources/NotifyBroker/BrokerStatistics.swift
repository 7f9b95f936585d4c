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
    /// The counters, under their public names.
    func counters(now: BrokerTime) -> [StatisticsReport.Counter] {
        let figures: [(String, UInt64)] = [
            ("uptime_seconds", UInt64((now.monotonic - daemon.started.monotonic).components.seconds)),
            ("connections", UInt64(connections.count)),
            ("subscriptions", UInt64(subscriptions.volatileCount + durables.attachedCount)),
            ("durable_subscriptions", UInt64(durables.count)),
            ("messages_in", statistics.messagesIn),
            ("delivered", statistics.delivered),
            ("stored", statistics.stored),
            ("commits", statistics.store.commits),
            ("syncs", statistics.store.syncs),
            ("pages_read", statistics.store.pagesRead),
            ("redelivered", statistics.redelivered),
            ("dropped", statistics.dropped),
            ("dropped_by_clients", statistics.droppedByClients),
            ("gaps", statistics.gaps),
            ("forbidden", statistics.forbidden),
            ("log_messages", statistics.store.logMessages),
            ("log_bytes", statistics.store.logBytes),
            ("wal_bytes", statistics.store.walBytes),
            ("memory_bytes", UInt64(ledger.totalBytes + sharedBytes)),
            ("memory_limit_bytes", UInt64(ledger.memoryLimit)),
        ]
        return figures.map { StatisticsReport.Counter(name: $0.0, value: $0.1) }
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
