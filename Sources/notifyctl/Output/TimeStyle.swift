import FoundationEssentials
import Glibc

/// The style of times in text.
enum TimeStyle: Sendable {
    /// In UTC, to the microsecond, as in JSON.
    case exact
    /// In UTC, to the millisecond.
    case utc
    /// In local time, to the millisecond and with the zone's offset.
    case local(LocalTimeZone)

    /// The style of text that is written to a descriptor: times are local only on a terminal.
    static func of(_ descriptor: Int32, isUTC: Bool) -> TimeStyle {
        guard isatty(descriptor) == 1 else { return .exact }
        return isUTC ? .utc : .local(.system)
    }

    func text(_ date: Date) -> String { text(microseconds: Timestamp.microseconds(date)) }

    func text(microseconds: UInt64) -> String {
        switch self {
        case .exact: Timestamp.text(microseconds: microseconds)
        case .utc: Timestamp.milliseconds(microseconds, offset: 0) + "Z"
        case .local(let zone): Self.text(microseconds, in: zone)
        }
    }

    private static func text(_ microseconds: UInt64, in zone: LocalTimeZone) -> String {
        // In whole minutes, as offsets are printed. So the printed time is exact even if the zone's offset has seconds.
        let offset = zone.offset(Int(microseconds / 1_000_000)) / 60 * 60
        return Timestamp.milliseconds(microseconds, offset: offset) + Timestamp.offset(offset)
    }
}
