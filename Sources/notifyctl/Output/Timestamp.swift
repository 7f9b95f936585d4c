import FoundationEssentials

/// Formats times as ISO 8601 in UTC.
enum Timestamp {
    /// A time to the second.
    static func seconds(_ date: Date) -> String { "\(text(date).prefix(19))Z" }

    /// A time to the microsecond.
    static func text(_ date: Date) -> String {
        text(microseconds: UInt64(max(0, date.timeIntervalSince1970 * 1_000_000)))
    }

    static func text(microseconds: UInt64) -> String {
        let (seconds, fraction) = microseconds.quotientAndRemainder(dividingBy: 1_000_000)
        let (days, secondOfDay) = seconds.quotientAndRemainder(dividingBy: 86_400)
        let (year, month, day) = date(daysSince1970: days)
        let (hour, minute, second) = (secondOfDay / 3600, secondOfDay / 60 % 60, secondOfDay % 60)
        return "\(pad(year, 4))-\(pad(month, 2))-\(pad(day, 2))T"
            + "\(pad(hour, 2)):\(pad(minute, 2)):\(pad(second, 2)).\(pad(fraction, 6))Z"
    }

    /// The date in the Gregorian calendar. Years are counted from March, so that the leap day is the last day of the
    /// year.
    private static func date(daysSince1970 days: UInt64) -> (year: UInt64, month: UInt64, day: UInt64) {
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

    private static func pad(_ value: UInt64, _ width: Int) -> String {
        let digits = String(value)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
}
