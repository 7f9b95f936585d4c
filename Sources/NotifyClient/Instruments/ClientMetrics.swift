import Metrics
import NotifyWire

/// The client's metrics.
struct ClientMetrics: Sendable {
    private static let prefix = "notify_client_"

    private let factory: any MetricsFactory
    private let posts: Counter
    private let deliveries: Counter
    private let clientDrops: Counter
    private let daemonDrops: Counter
    private let connections: Counter
    private let losses: Counter
    private let requestDuration: Timer
    /// The counters of receipts, by the durability that was reached.
    private let receipts: [NotificationClient.Durability: Counter]

    /// Returns nil if the program has no backend for metrics.
    init?(_ factory: any MetricsFactory) {
        if factory is NOOPMetricsHandler { return nil }
        func counter(_ name: String, _ dimensions: [(String, String)] = []) -> Counter {
            Counter(label: Self.prefix + name, dimensions: dimensions, factory: factory)
        }
        self.factory = factory
        posts = counter("posts")
        deliveries = counter("deliveries")
        clientDrops = counter("dropped", [("by", "client")])
        daemonDrops = counter("dropped", [("by", "daemon")])
        connections = counter("connections")
        losses = counter("connections_lost")
        requestDuration = Timer(label: Self.prefix + "request_duration", dimensions: [], factory: factory)
        receipts = Dictionary(
            uniqueKeysWithValues: NotificationClient.Durability.allCases.map {
                ($0, counter("receipts", [("outcome", $0.rawValue)]))
            })
    }

    /// Makes the counter of a kind of failure. The factory keeps the counters.
    private func failures(_ code: NotifyError.Code) -> Counter {
        Counter(label: Self.prefix + "receipts", dimensions: [("outcome", code.rawValue)], factory: factory)
    }

    func posted(_ count: Int = 1) {
        posts.increment(by: count)
    }

    func requestEnded(after duration: Duration) {
        requestDuration.record(duration: duration)
    }

    /// Counts the effects of an event.
    func count(_ effects: Effects) {
        var messages = 0
        for (_, item) in effects.deliveries {
            switch item {
            case .batch(let batch): messages += batch.entries.count
            case .gap(let gap) where gap.reason == .connectionTooSlow: daemonDrops.increment(by: gap.missed ?? 0)
            default: break
            }
        }
        if messages > 0 { deliveries.increment(by: messages) }
        if effects.dropped > 0 { clientDrops.increment(by: effects.dropped) }
        for (waiter, outcome) in effects.outcomes.list where waiter.wantsReceipt {
            switch outcome {
            case .success(let receipt): receipts[receipt.durability]?.increment()
            case .failure(let error): failures(error.code).increment()
            }
        }
        for change in effects.changes {
            switch change {
            case .connected: connections.increment()
            case .disconnected where effects.isConnectionLost: losses.increment()
            case .disconnected: break
            }
        }
    }
}
