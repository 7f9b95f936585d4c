import NotifyLog
import NotifyWire

/// Counters since the daemon started.
struct BrokerStatistics {
    var messagesIn: UInt64 = 0
    var delivered: UInt64 = 0
    var stored: UInt64 = 0
    var redelivered: UInt64 = 0
    /// Dropped from outboxes.
    var dropped: UInt64 = 0
    /// Dropped from clients' own buffers, as they report.
    var droppedByClients: UInt64 = 0
    var gaps: UInt64 = 0
    var store = StoreStatistics()
}

extension Broker {
    /// The counters by the names under which they are shown.
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
            ("log_messages", statistics.store.logMessages),
            ("log_bytes", statistics.store.logBytes),
            ("wal_bytes", statistics.store.walBytes),
        ]
        return figures.map { StatisticsReport.Counter(name: $0.0, value: $0.1) }
    }
}
