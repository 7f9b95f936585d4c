/// A position in the log at which reading begins, as a client requests it.
package enum LogPosition: Hashable, Sendable {
    /// The next message posted.
    case now
    /// The oldest message in the log.
    case oldest
    /// The first message with this sequence or a higher one; 1 to ``Limits/sequenceEnd``, exclusive.
    case sequence(UInt64)
    /// The first message posted at most this many microseconds ago, by the daemon's wall clock.
    case age(microseconds: UInt64)
    /// The first message posted at this time or later, in microseconds since 1970-01-01T00:00:00Z.
    case time(microseconds: UInt64)

    /// The highest age and the latest time, in microseconds.
    package static let maximumMicroseconds = UInt64(Int64.max)
}

extension LogPosition {
    /// Decodes a kind and its value.
    ///
    /// - Throws: `unsupported` if the kind is unknown, `invalidArgument` if the value is out of the kind's range.
    init(kind: UInt8, value: UInt64) throws(WireError) {
        switch kind {
        case 0: self = .now
        case 1: self = .oldest
        case 2: self = .sequence(value)
        case 3: self = .age(microseconds: value)
        case 4: self = .time(microseconds: value)
        default:
            throw WireError(
                .unsupported,
                "unknown start \(kind): expected 0 (now), 1 (oldest), 2 (sequence), 3 (age) or 4 (time)")
        }
        guard validValues.contains(value) else {
            throw WireError(
                .invalidArgument,
                "the value \(value) of start \(kind) is not from \(validValues.lowerBound) to \(validValues.upperBound)"
            )
        }
    }

    private var validValues: ClosedRange<UInt64> {
        switch self {
        case .now, .oldest: 0...0
        case .sequence: 1...(Limits.sequenceEnd - 1)
        case .age, .time: 0...Self.maximumMicroseconds
        }
    }

    /// The encoded form: the kind and its value.
    var encoded: (kind: UInt8, value: UInt64) {
        switch self {
        case .now: (0, 0)
        case .oldest: (1, 0)
        case .sequence(let sequence): (2, sequence)
        case .age(let microseconds): (3, microseconds)
        case .time(let microseconds): (4, microseconds)
        }
    }
}
