import FoundationEssentials
import NotifyClient

/// Reads a position in the log from an argument. Reads no clock: the current time and the time zone are given.
struct PositionParser {
    /// The current time in seconds since 1970.
    let now: Int
    let zone: LocalTimeZone

    /// The position that the text denotes; nil if it denotes none.
    func position(_ text: String) -> NotifyClient.Start? {
        switch text {
        case "now": .now
        case "oldest": .oldest
        default: sequence(text) ?? age(text) ?? time(text).map { .time($0) }
        }
    }

    // MARK: Numbers

    /// The highest sequence that the protocol allows.
    private static let highestSequence: UInt64 = 1 << 53 - 1

    private func sequence(_ text: String) -> NotifyClient.Start? {
        var scanner = TextScanner(text)
        guard let number = scanner.number(digits: 1...20), scanner.isAtEnd,
            (1...Self.highestSequence).contains(number)
        else { return nil }
        return .sequence(number)
    }

    /// A number with a unit, up to a million days.
    private func age(_ text: String) -> NotifyClient.Start? {
        let units: [(letter: Character, seconds: UInt64)] = [("s", 1), ("m", 60), ("h", 3600), ("d", 86_400)]
        var scanner = TextScanner(text)
        guard let number = scanner.number(digits: 1...12), let unit = units.first(where: { scanner.skip($0.letter) }),
            scanner.isAtEnd, number <= 1_000_000 * 86_400 / unit.seconds
        else { return nil }
        return .age(.seconds(number * unit.seconds))
    }

    // MARK: Times

    private func time(_ text: String) -> Date? {
        var scanner = TextScanner(text)
        guard let day = day(&scanner) else { return nil }
        guard !scanner.isAtEnd else { return date(zone.seconds(ofLocal: day.number * 86_400)) }
        guard day.isTimeOnly || scanner.skip(" ") || (day.isWritten && scanner.skip("T")),
            let time = timeOfDay(&scanner)
        else { return nil }
        let local = day.number * 86_400 + time.seconds
        if scanner.isAtEnd { return date(zone.seconds(ofLocal: local), microseconds: time.microseconds) }
        guard day.isWritten, let offset = offset(&scanner), scanner.isAtEnd else { return nil }
        return date(local - offset, microseconds: time.microseconds)
    }

    private func date(_ seconds: Int, microseconds: Int = 0) -> Date {
        Date(timeIntervalSince1970: Double(seconds) + Double(microseconds) / 1_000_000)
    }

    /// A day, in days since 1970-01-01.
    private struct Day {
        var number: Int
        /// Whether the text begins with the digits of a date.
        var isWritten = false
        /// Whether the text begins with a time, which is one of today.
        var isTimeOnly = false
    }

    private func day(_ scanner: inout TextScanner) -> Day? {
        let local = zone.localSeconds(of: now)
        let today = (local - (local % 86_400 + 86_400) % 86_400) / 86_400
        if scanner.skip("today") { return Day(number: today) }
        if scanner.skip("yesterday") { return Day(number: today - 1) }
        var time = scanner
        if time.number(digits: 2...2) != nil, time.skip(":") { return Day(number: today, isTimeOnly: true) }
        guard let year = scanner.integer(digits: 4), scanner.skip("-"), let month = scanner.integer(digits: 2),
            scanner.skip("-"), let day = scanner.integer(digits: 2)
        else { return nil }
        return Self.daysSince1970(year: year, month: month, day: day).map { Day(number: $0, isWritten: true) }
    }

    /// Reads `12:00`, `12:00:30` or `12:00:30.5`. Digits after the microseconds are ignored.
    private func timeOfDay(_ scanner: inout TextScanner) -> (seconds: Int, microseconds: Int)? {
        guard let hour = scanner.integer(digits: 2), scanner.skip(":"), let minute = scanner.integer(digits: 2),
            hour < 24, minute < 60
        else { return nil }
        guard scanner.skip(":") else { return (hour * 3600 + minute * 60, 0) }
        guard let second = scanner.integer(digits: 2), second < 60 else { return nil }
        let seconds = hour * 3600 + minute * 60 + second
        guard scanner.skip(".") else { return (seconds, 0) }
        guard let digits = scanner.digits(1...9) else { return nil }
        return (seconds, Int(String((digits + "00000").prefix(6))) ?? 0)
    }

    /// Reads `Z`, `+02:00`, `+0200` or `+02`, and returns the seconds by which local time is ahead of UTC.
    private func offset(_ scanner: inout TextScanner) -> Int? {
        if scanner.skip("Z") { return 0 }
        let isAhead = scanner.skip("+")
        guard isAhead || scanner.skip("-"), let hours = scanner.integer(digits: 2), hours < 24 else { return nil }
        var minutes = 0
        if !scanner.isAtEnd {
            _ = scanner.skip(":")
            guard let read = scanner.integer(digits: 2), read < 60 else { return nil }
            minutes = read
        }
        return (isAhead ? 1 : -1) * (hours * 3600 + minutes * 60)
    }

    /// The number of a date in the Gregorian calendar; nil if there is no such date. Years are counted from March, so
    /// that the leap day is the last day of the year.
    static func daysSince1970(year: Int, month: Int, day: Int) -> Int? {
        let isLeap = year.isMultiple(of: 4) && (!year.isMultiple(of: 100) || year.isMultiple(of: 400))
        let lengths = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
        guard year > 0, (1...12).contains(month), (1...lengths[month - 1]).contains(day) else { return nil }
        let years = month > 2 ? year : year - 1
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        // Days from 0000-03-01 to 1970-01-01.
        return years * 365 + years / 4 - years / 100 + years / 400 + dayOfYear - 719_468
    }
}

/// Takes digits and given texts from the front of a text.
private struct TextScanner {
    private var rest: Substring.UTF8View

    init(_ text: String) {
        rest = Substring(text).utf8
    }

    var isAtEnd: Bool { rest.isEmpty }

    mutating func skip(_ text: String) -> Bool {
        guard rest.starts(with: text.utf8) else { return false }
        rest = rest.dropFirst(text.utf8.count)
        return true
    }

    mutating func skip(_ character: Character) -> Bool { skip(String(character)) }

    /// Takes all digits at the front; nil if their count is not in `counts`.
    mutating func digits(_ counts: ClosedRange<Int>) -> String? {
        let digits = rest.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        guard counts.contains(digits.count) else { return nil }
        rest = rest[digits.endIndex...]
        return String(Substring(digits))
    }

    mutating func number(digits counts: ClosedRange<Int>) -> UInt64? { digits(counts).flatMap { UInt64($0) } }

    /// Takes exactly so many digits.
    mutating func integer(digits count: Int) -> Int? {
        let digits = rest.prefix(count)
        guard digits.count == count, digits.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
        else { return nil }
        rest = rest.dropFirst(count)
        return Int(String(Substring(digits)))
    }
}
