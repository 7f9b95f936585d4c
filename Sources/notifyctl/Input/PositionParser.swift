import FoundationEssentials
import NotifyClient
import NotifyUnits

/// The reason why a text has the form of a position but does not name one.
enum PositionProblem: Error, Equatable, CustomStringConvertible {
    /// A number that may be a sequence or a time.
    case ambiguous(String)
    /// The clock is set forward past the local time: from the first of these times to the second. Both may be on
    /// another day than the local time.
    case skipped(from: String, to: String)
    /// The clock is set back, and shows the local time twice, with these offsets.
    case repeated(String, String)
    /// The time is followed by the name of a zone.
    case namedZone(String)
    /// The calendar has no such day.
    case noSuchDay
    /// The hour, minute or second is too high.
    case noSuchTimeOfDay
    /// The number is no sequence.
    case noSuchSequence

    var description: String {
        switch self {
        case .ambiguous(let number):
            "the number may be a sequence or a time: write seq:\(number) for the sequence, or @ and seconds since 1970 "
                + "for the time"
        case .skipped(let from, let to):
            "this time does not exist: the clock is set forward from \(from) to \(to)"
        case .repeated(let first, let second):
            "this time exists twice, because the clock is set back: add \(first) for the first, \(second) for the second"
        case .noSuchDay: "there is no such day"
        case .noSuchTimeOfDay: "there is no such time of day: the last one is 23:59:59"
        case .noSuchSequence: "sequences begin with 1 and have at most 16 digits"
        case .namedZone(let name):
            "give the zone as its offset from UTC, such as +01:00 or Z, in place of \(name)"
        }
    }
}

/// Reads a position in the log from an argument. Reads no clock: the current time and the time zone are given.
struct PositionParser {
    /// The current time in seconds since 1970.
    let now: Int
    let zone: LocalTimeZone

    /// The position that the text denotes; nil if it has none of the forms.
    func position(_ text: String) throws(PositionProblem) -> NotificationClient.Start? {
        switch text {
        case "now": return .now
        case "oldest": return .oldest
        default: break
        }
        if let sequence = try sequence(text) { return sequence }
        if let start = age(text) ?? epoch(text) { return start }
        guard let time = try time(text) else { return nil }
        return .time(time)
    }

    // MARK: Numbers

    /// The highest sequence that the protocol allows.
    private static let highestSequence: UInt64 = 1 << 53 - 1

    /// Numbers that programs write for a time from 2001 to 2100, in seconds, milliseconds and microseconds since 1970.
    private static let epochs: [ClosedRange<UInt64>] = [1, 1_000, 1_000_000].map { scale in
        1_000_000_000 * scale...4_102_444_800 * scale
    }

    private func sequence(_ text: String) throws(PositionProblem) -> NotificationClient.Start? {
        var scanner = TextScanner(text)
        let isMarked = scanner.skip("seq:")
        let digits = scanner.text
        guard scanner.digits(1...(.max)) != nil, scanner.isAtEnd else { return nil }
        guard digits == "0" || !digits.hasPrefix("0") else { return nil }
        guard let number = UInt64(digits), (1...Self.highestSequence).contains(number) else {
            throw .noSuchSequence
        }
        if !isMarked, Self.epochs.contains(where: { $0.contains(number) }) { throw .ambiguous(text) }
        return .sequence(number)
    }

    /// A duration with a unit.
    private func age(_ text: String) -> NotificationClient.Start? {
        guard text.last?.isLetter == true else { return nil }
        return Quantity.duration(text).map { .age($0) }
    }

    /// `@` and seconds since 1970, with a fraction or without.
    private func epoch(_ text: String) -> NotificationClient.Start? {
        var scanner = TextScanner(text)
        guard scanner.skip("@"), let seconds = scanner.digits(1...11).flatMap({ Int($0) }) else { return nil }
        let microseconds = fraction(&scanner)
        guard let microseconds, scanner.isAtEnd else { return nil }
        return .time(date(seconds, microseconds: microseconds))
    }

    // MARK: Times

    private func time(_ text: String) throws(PositionProblem) -> Date? {
        var scanner = TextScanner(text)
        guard let day = try day(&scanner) else { return nil }
        guard !scanner.isAtEnd else { return date(zone.start(ofDay: number(day))) }
        guard day.isTimeOnly || scanner.skip(" ") || (day.isWritten && scanner.skip("T")),
            let time = try timeOfDay(&scanner)
        else { return nil }
        if scanner.isAtEnd {
            return date(try moment(number(day) * 86_400 + time.seconds), microseconds: time.microseconds)
        }
        let zoneText = scanner.text
        guard let offset = offset(&scanner), scanner.isAtEnd else {
            let name = zoneText.drop { $0 == " " }
            if name.first?.isLetter == true { throw .namedZone(String(name)) }
            return nil
        }
        let local = number(day, in: LocalTimeZone { _ in offset }) * 86_400 + time.seconds
        return date(local - offset, microseconds: time.microseconds)
    }

    /// The time at which clocks show a local time. Throws if there is no such time, or if there are two.
    private func moment(_ local: Int) throws(PositionProblem) -> Int {
        switch zone.moments(ofLocal: local) {
        case .one(let moment): return moment
        case .none(let change):
            let (from, to) = (change + zone.offset(change - 1), zone.localSeconds(of: change))
            // Offsets of the past may have seconds. Without the seconds, both times could have the same text.
            let hasSeconds = from % 60 != 0 || to % 60 != 0
            throw .skipped(
                from: Timestamp.local(from, hasSeconds: hasSeconds), to: Timestamp.local(to, hasSeconds: hasSeconds))
        case .two(let first, let second):
            throw .repeated(Timestamp.offset(zone.offset(first)), Timestamp.offset(zone.offset(second)))
        }
    }

    private func date(_ seconds: Int, microseconds: Int = 0) -> Date {
        Date(timeIntervalSince1970: Double(seconds) + Double(microseconds) / 1_000_000)
    }

    private enum Day {
        /// The number of a date, in days since 1970-01-01.
        case written(Int)
        /// Days since today.
        case relative(Int)
        /// The text has no day, only a time of day. The day is today.
        case omitted

        var isWritten: Bool { if case .written = self { true } else { false } }
        var isTimeOnly: Bool { if case .omitted = self { true } else { false } }
    }

    /// The number of a day, in days since 1970-01-01. The zone, by default the local one, determines which day is
    /// today.
    private func number(_ day: Day, in other: LocalTimeZone? = nil) -> Int {
        let local = (other ?? zone).localSeconds(of: now)
        let today = (local - (local % 86_400 + 86_400) % 86_400) / 86_400
        return switch day {
        case .written(let number): number
        case .relative(let days): today + days
        case .omitted: today
        }
    }

    private func day(_ scanner: inout TextScanner) throws(PositionProblem) -> Day? {
        if scanner.skip("today") { return .relative(0) }
        if scanner.skip("yesterday") { return .relative(-1) }
        var time = scanner
        if time.number(digits: 2...2) != nil, time.skip(":") { return .omitted }
        guard let year = scanner.integer(digits: 4), scanner.skip("-"), let month = scanner.integer(digits: 2),
            scanner.skip("-"), let day = scanner.integer(digits: 2)
        else { return nil }
        guard let number = Self.daysSince1970(year: year, month: month, day: day) else { throw .noSuchDay }
        return .written(number)
    }

    /// Reads `12:00`, `12:00:30` or `12:00:30.5`. Digits after the microseconds are ignored.
    private func timeOfDay(
        _ scanner: inout TextScanner
    ) throws(PositionProblem) -> (seconds: Int, microseconds: Int)? {
        guard let hour = scanner.integer(digits: 2), scanner.skip(":"), let minute = scanner.integer(digits: 2) else {
            return nil
        }
        guard hour < 24, minute < 60 else { throw .noSuchTimeOfDay }
        guard scanner.skip(":") else { return (hour * 3600 + minute * 60, 0) }
        guard let second = scanner.integer(digits: 2) else { return nil }
        guard second < 60 else { throw .noSuchTimeOfDay }
        let seconds = hour * 3600 + minute * 60 + second
        return fraction(&scanner).map { (seconds, $0) }
    }

    /// Reads a point and the decimals of a second, or nothing, and returns the microseconds; nil if no digit follows
    /// the point.
    private func fraction(_ scanner: inout TextScanner) -> Int? {
        guard scanner.skip(".") else { return 0 }
        guard let digits = scanner.digits(1...9) else { return nil }
        return Int(String((digits + "00000").prefix(6)))
    }

    /// Reads `Z`, `UTC`, `+02:00`, `+0200` or `+02`, also after a space, and returns the seconds by which local time is
    /// ahead of UTC.
    private func offset(_ scanner: inout TextScanner) -> Int? {
        _ = scanner.skip(" ")
        if scanner.skip("Z") || scanner.skip("UTC") { return 0 }
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

    /// The text that was not taken.
    var text: Substring { Substring(rest) }

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

    /// Takes exactly `count` digits.
    mutating func integer(digits count: Int) -> Int? {
        let digits = rest.prefix(count)
        guard digits.count == count, digits.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
        else { return nil }
        rest = rest.dropFirst(count)
        return Int(String(Substring(digits)))
    }
}
