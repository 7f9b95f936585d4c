import Metrics
import NotifyWire

/// The daemon's figures as metrics of swift-metrics: counters and meters. Each name is `notifyd_` plus the
/// figure's name.
///
/// Metrics cost nothing per message: the broker counts messages anyway, and ``update(_:)`` adds the growth of each
/// figure to its counter. Must be used on the event loop only.
struct DaemonMetrics {
    private enum Metric {
        case counter(Counter, reported: UInt64)
        case meter(Meter)
    }

    private var metrics: [String: Metric] = [:]

    /// - Returns: `nil` if the factory discards all metrics.
    init?(_ factory: any MetricsFactory) {
        guard !(factory is NOOPMetricsHandler) else { return nil }
        for statistic in Statistic.allCases {
            let label = "notifyd_\(statistic.rawValue)"
            metrics[statistic.rawValue] =
                statistic.isTotal
                ? .counter(Counter(label: label, factory: factory), reported: 0)
                : .meter(Meter(label: label, factory: factory))
        }
    }

    /// Reports the figures.
    mutating func update(_ figures: [StatisticsReport.Counter]) {
        for figure in figures {
            switch metrics[figure.name] {
            case .counter(let counter, let reported)?:
                guard figure.value > reported else { continue }
                counter.increment(by: Int64(clamping: figure.value - reported))
                metrics[figure.name] = .counter(counter, reported: figure.value)
            case .meter(let meter)?: meter.set(figure.value)
            case nil: break
            }
        }
    }
}
