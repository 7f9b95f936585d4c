public import FoundationEssentials
import NotifyWire

extension NotificationClient {
    /// A position in the daemon's log at which a subscription or a request for stored messages begins. An existing
    /// durable subscription continues at its cursor.
    public enum Start: Hashable, Sendable {
        /// The next message posted.
        case now
        /// The oldest message in the daemon's log.
        case oldest
        /// The first message that has this sequence or a higher one.
        ///
        /// The sequence must be at least 1. The daemon refuses a sequence above that of the next message with
        /// `invalidArgument`, unless an existing durable subscription continues at its cursor.
        case sequence(UInt64)
        /// The first message posted at most this long ago, by the daemon's wall clock. Must not be negative.
        case age(Duration)
        /// The first message posted at this time or later, by the daemon's wall clock. The daemon refuses a time in the
        /// future with `invalidArgument`, unless an existing durable subscription continues at its cursor.
        ///
        /// Messages are found by ``Message/date``. If the clock was set back, the dates of successive messages can pass
        /// this time more than once. The subscription then begins at any of these places.
        case time(Date)
    }
}

extension NotificationClient.Start {
    /// The position in the protocol. Times before 1970 and times beyond the protocol's range are replaced by the
    /// nearest valid time.
    ///
    /// - Throws: `invalidArgument` if the sequence, age or time is invalid.
    func position() throws(NotifyError) -> LogPosition {
        switch self {
        case .now: return .now
        case .oldest: return .oldest
        case .sequence(let sequence):
            guard (1..<Limits.sequenceEnd).contains(sequence) else {
                throw NotifyError(
                    .invalidArgument, "the sequence must be 1 to \(Limits.sequenceEnd - 1), not \(sequence)")
            }
            return .sequence(sequence)
        case .age(let age):
            guard age >= .zero else { throw NotifyError(.invalidArgument, "the age must not be negative") }
            return .age(microseconds: age.clampedMicroseconds)
        case .time(let time):
            let microseconds = (time.timeIntervalSince1970 * 1_000_000).rounded()
            guard !microseconds.isNaN else { throw NotifyError(.invalidArgument, "the time must be a number") }
            return .time(microseconds: UInt64(min(max(0, microseconds), Self.maximumTime)))
        }
    }

    /// The largest `Double` that is at most ``LogPosition/maximumMicroseconds``.
    private static let maximumTime = Double(sign: .plus, exponent: 63, significand: 1).nextDown
}

extension Duration {
    /// The microseconds of a duration that is not negative, up to ``LogPosition/maximumMicroseconds``.
    var clampedMicroseconds: UInt64 {
        let (seconds, attoseconds) = components
        let (product, overflow) = UInt64(seconds).multipliedReportingOverflow(by: 1_000_000)
        guard !overflow, product < LogPosition.maximumMicroseconds - 1_000_000 else {
            return LogPosition.maximumMicroseconds
        }
        return product + UInt64(attoseconds / 1_000_000_000_000)
    }
}
