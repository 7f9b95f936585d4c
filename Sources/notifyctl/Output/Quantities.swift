import NotifyUnits

/// Formats durations, sizes and rates for tables.
enum Quantities {
    /// A duration in its two largest units, such as `3h12m`.
    static func duration(seconds: UInt64) -> String {
        switch seconds {
        case ..<60: "\(seconds)s"
        case ..<3_600: "\(seconds / 60)m\(seconds % 60)s"
        case ..<86_400: "\(seconds / 3_600)h\(seconds / 60 % 60)m"
        default: "\(seconds / 86_400)d\(seconds / 3_600 % 24)h"
        }
    }

    /// A size in bytes or binary units, such as `1.5MiB`.
    static func bytes(_ bytes: UInt64) -> String { Quantity.rounded(bytes: bytes) }

    /// The growth of a counter per second. A counter that is lower than before has restarted at 0.
    static func rate(from earlier: UInt64, to later: UInt64, in elapsed: Duration) -> UInt64 {
        let growth = later >= earlier ? later - earlier : later
        return UInt64((Double(growth) / max(elapsed / .seconds(1), 0.001)).rounded())
    }
}
