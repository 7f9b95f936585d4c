import FoundationEssentials

/// Formats times as ISO 8601.
enum Timestamp {
    /// A time in UTC, to the microsecond.
    static func text(_ date: Date) -> String { text(microseconds: microseconds(date)) }

    static func text(microseconds: UInt64) -> String {
        let (seconds, fraction) = microseconds.quotientAndRemainder(dividingBy: 1_000_000)
        return "\(clock(Int(seconds))).\(pad(fraction, 6))Z"
    }

    /// A time to the millisecond, without its offset.
    ///
    /// - Parameter offset: The seconds by which the zone is ahead of UTC.
    static func milliseconds(_ microseconds: UInt64, offset: Int) -> String {
        let (seconds, fraction) = microseconds.quotientAndRemainder(dividingBy: 1_000_000)
        return "\(clock(Int(seconds) + offset)).\(pad(fraction / 1000, 3))"
    }

    /// The text of a local time, to the second or to the minute, without its offset. The time is given in seconds since
    /// 1970-01-01T00:00:00.
    static func local(_ seconds: Int, hasSeconds: Bool) -> String {
        String(clock(seconds).prefix(hasSeconds ? 19 : 16).replacing("T", with: " "))
    }

    /// The offset of a zone, such as `+01:00`.
    static func offset(_ seconds: Int) -> String {
        let minutes = UInt64(abs(seconds) / 60)
        return "\(seconds < 0 ? "-" : "+")\(pad(minutes / 60, 2)):\(pad(minutes % 60, 2))"
    }

    /// A time in microseconds since 1970; 0 for an earlier time, and the maximum for a time that is too late. Rounded,
    /// because a `Date` is not exact.
    static func microseconds(_ date: Date) -> UInt64 {
        let microseconds = (date.timeIntervalSince1970 * 1_000_000).rounded()
        guard microseconds > 0 else { return 0 }
        return microseconds < 0x1p64 ? UInt64(microseconds) : .max
    }

    /// The date and the time of day, to the second.
    private static func clock(_ seconds: Int) -> String {
        let secondOfDay = (seconds % 86_400 + 86_400) % 86_400
        let (year, month, day) = date(daysSince1970: (seconds - secondOfDay) / 86_400)
        let (hour, minute, second) = (secondOfDay / 3600, secondOfDay / 60 % 60, secondOfDay % 60)
        return "\(pad(year, 4))-\(pad(month, 2))-\(pad(day, 2))T\(pad(hour, 2)):\(pad(minute, 2)):\(pad(second, 2))"
    }

    /// The date in the Gregorian calendar. Years are counted from March, so that the leap day is the last day of the
    /// year.
    private static func date(daysSince1970 days: Int) -> (year: Int, month: Int, day: Int) {
        // Days from 0000-03-01 to 1970-01-01.
        let day = days + 719_468
        let (era, dayOfEra) = day.quotientAndRemainder(dividingBy: 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        let year = era * 400 + yearOfEra + (month <= 2 ? 1 : 0)
        return (year, month, dayOfYear - (153 * monthFromMarch + 2) / 5 + 1)
    }

    private static func pad(_ value: some BinaryInteger, _ width: Int) -> String {
        let digits = String(value)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
}
