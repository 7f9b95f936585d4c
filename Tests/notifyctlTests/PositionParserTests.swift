import Foundation
import NotifyClient
import Testing

@testable import notifyctl

@Suite struct PositionParserTests {
    /// Central European time in 2026, with daylight-saving time from 2026-03-29T01:00Z to 2026-10-25T01:00Z.
    private static let berlin = LocalTimeZone { (1_774_746_000..<1_792_890_000).contains($0) ? 7200 : 3600 }
    /// A zone west of UTC, by an offset that is not a whole number of hours.
    private static let west = LocalTimeZone { _ in -12_600 }
    /// A zone whose clock is set from 00:00 to 01:00 at 2026-03-29T00:00 local time.
    private static let midnight = LocalTimeZone { $0 >= 1_774_735_200 ? 10_800 : 7200 }

    /// Parses at 2026-11-22T11:15:30Z, unless another time is given.
    private func position(
        _ text: String, in zone: LocalTimeZone = Self.berlin, at now: String = "2026-11-22T11:15:30Z"
    ) -> NotificationClient.Start? {
        guard let now = try? Date(now, strategy: .iso8601) else { return nil }
        return try? PositionParser(now: Int(now.timeIntervalSince1970), zone: zone).position(text)
    }

    private func problem(_ text: String, in zone: LocalTimeZone = Self.berlin) -> PositionProblem? {
        do {
            _ = try PositionParser(now: 1_795_346_130, zone: zone).position(text)
            return nil
        } catch {
            return error
        }
    }

    private func time(_ text: String) throws -> NotificationClient.Start { .time(try Date(text, strategy: .iso8601)) }

    @Test(
        arguments: [
            ("now", .now), ("oldest", .oldest), ("1", .sequence(1)), ("20261122", .sequence(20_261_122)),
            ("8", .sequence(8)), ("9007199254740991", .sequence(1 << 53 - 1)), ("0s", .age(.zero)),
            ("90s", .age(.seconds(90))), ("15m", .age(.seconds(900))), ("2h", .age(.seconds(7200))),
            ("7d", .age(.seconds(604_800))), ("1w", .age(.seconds(604_800))), ("1h30m", .age(.seconds(5400))),
            ("1.5h", .age(.seconds(5400))), ("500ms", .age(.milliseconds(500))), ("seq:7", .sequence(7)),
            ("seq:1795348800", .sequence(1_795_348_800)),
        ] as [(String, NotificationClient.Start)])
    func `words, sequences and ages are read`(text: String, expected: NotificationClient.Start) {
        #expect(position(text) == expected)
    }

    @Test(arguments: [
        ("2026-11-22T12:00:00Z", "2026-11-22T12:00:00Z"), ("2026-11-22T12:00Z", "2026-11-22T12:00:00Z"),
        ("2026-11-22 12:00:30Z", "2026-11-22T12:00:30Z"), ("2026-11-22T12:00:00+02:00", "2026-11-22T10:00:00Z"),
        ("2026-11-22T12:00:00+0530", "2026-11-22T06:30:00Z"), ("2026-11-22T12:00-08", "2026-11-22T20:00:00Z"),
        ("2026-11-22T23:30-01:00", "2026-11-23T00:30:00Z"), ("2024-02-29T00:00Z", "2024-02-29T00:00:00Z"),
        ("2000-02-29T00:00Z", "2000-02-29T00:00:00Z"), ("2100-12-31T23:59:59Z", "2100-12-31T23:59:59Z"),
        ("1969-12-31T23:59:59Z", "1969-12-31T23:59:59Z"),
        // In local time.
        ("2026-11-22 12:00", "2026-11-22T11:00:00Z"), ("2026-11-22T12:00", "2026-11-22T11:00:00Z"),
        ("2026-11-22 12:00:30", "2026-11-22T11:00:30Z"), ("2026-11-22", "2026-11-21T23:00:00Z"),
        ("2026-07-01", "2026-06-30T22:00:00Z"), ("2026-07-01 12:00", "2026-07-01T10:00:00Z"),
        ("12:00", "2026-11-22T11:00:00Z"), ("23:59:59", "2026-11-22T22:59:59Z"), ("today", "2026-11-21T23:00:00Z"),
        ("today 00:30", "2026-11-21T23:30:00Z"), ("yesterday", "2026-11-20T23:00:00Z"),
        ("yesterday 12:00", "2026-11-21T11:00:00Z"), ("yesterday 12:00:30", "2026-11-21T11:00:30Z"),
    ])
    func `times with an offset and local times are read`(text: String, expected: String) throws {
        #expect(try position(text) == time(expected))
    }

    @Test(arguments: [("12:00:00.5", 500_000), ("12:00:00.000001", 1), ("12:00:00.9999999", 999_999)])
    func `fractions of a second are read to the microsecond`(text: String, microseconds: Int) throws {
        for text in ["2026-11-22T\(text)Z", "2026-11-22T\(text)+00:00"] {
            guard case .time(let time)? = position(text) else {
                Issue.record("\(text) is not read")
                continue
            }
            #expect((time.timeIntervalSince1970 * 1_000_000).rounded() == 1_795_348_800_000_000 + Double(microseconds))
        }
        #expect(position(text) != nil)
    }

    @Test func `a time that notifyctl prints is read`() {
        let microseconds: UInt64 = 1_795_348_800_123_457
        guard case .time(let time)? = position(Timestamp.text(microseconds: microseconds)) else {
            Issue.record("it is not read")
            return
        }
        #expect(UInt64((time.timeIntervalSince1970 * 1_000_000).rounded()) == microseconds)
    }

    @Test(arguments: [
        "", " ", "then", "all", "Now", "now ", " now", "-1", "+1", "1.5", "1_000", "١", "s", "h", "-2h", "2H", "2 h",
        "2y", "30m2h", "010s",
        "seq:", "seq:010", "010", "seq:1s", "@", "@1.", "@-1", "@1s", "@123456789012",
        "2026-1-1", "26-01-01", "20260-01-01", "2026-11", "2026-11-", "2026/11/22", "2026-11-22 ", "2026-11-22T",
        "2026-11-22t12:00", "2026-11-22  12:00", "2026-11-2212:00", "2026-11-22Z", "2026-11-22 12", "2026-11-22 12:0",
        "2026-11-22 12:00:", "2026-11-22 12:00:00.",
        "2026-11-22 12:00:00.1234567890", "2026-11-22 12:00:00,5", "2026-11-22T12:00z",
        "2026-11-22T12:00+", "2026-11-22T12:00+1", "2026-11-22T12:00+24:00", "2026-11-22T12:00+01:60",
        "2026-11-22T12:00+01:", "2026-11-22T12:00+01:0", "2026-11-22T12:00+01:000", "2026-11-22T12:00Z+01:00",
        "2026-11-22T12:00ZZ", "12:0", "1:00", "012:00", "12:00 ",
        "yesterday ", "yesterday12:00", "yesterdayT12:00", "yesterday noon", "yesterday 2026-11-22",
        "todaytoday", "tomorrow", "yesterday yesterday",
    ])
    func `texts that have no form of a position are refused`(text: String) {
        #expect(position(text) == nil)
    }

    @Test(arguments: [
        (
            PositionProblem.noSuchDay,
            [
                "2026-02-29", "2100-02-29", "2026-02-30", "2026-13-45", "2026-00-01", "2026-01-00",
                "2026-04-31", "0000-01-01",
            ]
        ),
        (
            .noSuchTimeOfDay,
            ["24:00", "25:00", "12:00:60", "2026-11-22 24:00", "2026-11-22 12:60", "yesterday 12:00:61"]
        ),
        (.noSuchSequence, ["0", "seq:0", "9007199254740992", "18446744073709551616", "99999999999999999999999"]),
    ])
    func `nonexistent days, times and sequences are refused with reasons`(expected: PositionProblem, texts: [String]) {
        for text in texts { #expect(problem(text) == expected, "\(text)") }
    }

    // MARK: Time zones

    @Test(arguments: [
        // The clock is set forward from 02:00 to 03:00.
        ("2026-03-29 01:59:59", "2026-03-29T00:59:59Z"), ("2026-03-29 03:00", "2026-03-29T01:00:00Z"),
        // The clock is set back from 03:00 to 02:00.
        ("2026-10-25 01:59:59", "2026-10-24T23:59:59Z"), ("2026-10-25 02:30 +02:00", "2026-10-25T00:30:00Z"),
        ("2026-10-25 02:30+01:00", "2026-10-25T01:30:00Z"), ("2026-10-25 03:00", "2026-10-25T02:00:00Z"),
    ])
    func `local times near a change of the clock are read`(text: String, expected: String) throws {
        #expect(try position(text) == time(expected))
    }

    @Test func `local times that the clock skips or shows twice are refused with the reason`() {
        for text in ["2026-03-29 02:00", "2026-03-29 02:59:59"] {
            #expect(problem(text) == .skipped(from: "2026-03-29 02:00", to: "2026-03-29 03:00"), "\(text)")
        }
        for text in ["2026-10-25 02:00", "2026-10-25 02:59:59"] {
            #expect(problem(text) == .repeated("+02:00", "+01:00"), "\(text)")
        }
        #expect(
            problem("2026-03-29 00:30", in: Self.midnight)
                == .skipped(from: "2026-03-29 00:00", to: "2026-03-29 01:00"))
        #expect("\(PositionProblem.repeated("+02:00", "+01:00"))".contains("exists twice"))
        #expect("\(PositionProblem.skipped(from: "02:00", to: "03:00"))".contains("does not exist"))
    }

    @Test func `a change of the clock by some seconds is named with seconds`() {
        // Amsterdam in 1937, from +01:19:32 to +01:20.
        let amsterdam = LocalTimeZone { $0 < -1_025_745_572 ? 4772 : 4800 }
        #expect(
            problem("1937-07-01 00:00:10", in: amsterdam)
                == .skipped(from: "1937-07-01 00:00:00", to: "1937-07-01 00:00:28"))
        // Amsterdam in 1940, from +00:20 to +02:00.
        let later = LocalTimeZone { $0 < -935_022_000 ? 1200 : 7200 }
        #expect(
            problem("1940-05-16 00:30", in: later)
                == .skipped(from: "1940-05-16 00:00", to: "1940-05-16 01:40"))
    }

    @Test(arguments: [3, 30])
    func `a change of the clock is found although another change follows within hours`(hours: Int) throws {
        // The clock is set forward by an hour at 2026-11-20T01:00:00Z, from 02:00 to 03:00, and back some hours later.
        let change = 1_795_136_400
        let zone = LocalTimeZone { (change..<change + hours * 3600).contains($0) ? 7200 : 3600 }
        #expect(
            problem("2026-11-20 02:30", in: zone) == .skipped(from: "2026-11-20 02:00", to: "2026-11-20 03:00"))
        #expect(try position("2026-11-20 01:30", in: zone) == time("2026-11-20T00:30:00Z"))
        #expect(try position("2026-11-20 03:30", in: zone) == time("2026-11-20T01:30:00Z"))
    }

    @Test(arguments: ["2026-11-22 12:00 Europe/Berlin", "12:00 CET", "yesterday 12:00 local", "2026-11-22T12:00z"])
    func `the name of a zone is refused with the form of an offset`(text: String) {
        let problem = problem(text)
        #expect(problem.map { "\($0)" }?.contains("such as +01:00 or Z, in place of ") == true)
    }

    @Test(arguments: ["1000000000", "1795348800", "1795348800123", "1795348800123456"])
    func `a number that may be a time is not read as a sequence`(text: String) {
        #expect(problem(text) == .ambiguous(text))
    }

    @Test(arguments: [
        ("@1795348800", "2026-11-22T12:00:00Z"), ("@0", "1970-01-01T00:00:00Z"), ("12:00Z", "2026-11-22T12:00:00Z"),
        ("12:00 UTC", "2026-11-22T12:00:00Z"), ("12:00 +01:00", "2026-11-22T11:00:00Z"),
        ("yesterday 12:00Z", "2026-11-21T12:00:00Z"), ("today 01:00+14:00", "2026-11-22T11:00:00Z"),
        ("2026-11-22 12:00 Z", "2026-11-22T12:00:00Z"),
    ])
    func `times since 1970 and times of relative days in a zone are read`(text: String, expected: String) throws {
        #expect(try position(text) == time(expected))
    }

    @Test(arguments: [
        // Local date and time: 2026-03-30 01:30, 2026-10-26 00:30, 2026-11-23 00:10.
        ("yesterday", "2026-03-29T23:30:00Z", "2026-03-28T23:00:00Z"),
        ("yesterday 12:00", "2026-03-29T23:30:00Z", "2026-03-29T10:00:00Z"),
        ("today", "2026-03-29T23:30:00Z", "2026-03-29T22:00:00Z"),
        ("yesterday", "2026-10-25T23:30:00Z", "2026-10-24T22:00:00Z"),
        ("yesterday 12:00", "2026-10-25T23:30:00Z", "2026-10-25T11:00:00Z"),
        ("today", "2026-10-25T23:30:00Z", "2026-10-25T23:00:00Z"),
        ("12:00", "2026-11-22T23:10:00Z", "2026-11-23T11:00:00Z"),
    ])
    func `days are those of the local calendar`(text: String, now: String, expected: String) throws {
        #expect(try position(text, at: now) == time(expected))
    }

    @Test func `west of UTC, the local day begins some hours after the day in UTC`() throws {
        #expect(try position("yesterday", in: Self.west, at: "2026-11-22T03:00:00Z") == time("2026-11-20T03:30:00Z"))
        #expect(try position("today", in: Self.west, at: "2026-11-22T03:30:00Z") == time("2026-11-22T03:30:00Z"))
        #expect(try position("2026-11-22", in: Self.west) == time("2026-11-22T03:30:00Z"))
    }

    @Test func `a day whose midnight is skipped begins at the change of the clock`() throws {
        #expect(try position("2026-03-29", in: Self.midnight) == time("2026-03-28T22:00:00Z"))
    }

    @Test func `a skipped day is named with the days around it, and begins with the next one`() throws {
        // As Samoa skipped 2011-12-30.
        let zone = LocalTimeZone { $0 < 1_325_239_200 ? -36_000 : 50_400 }
        #expect(
            problem("2011-12-30 12:00", in: zone) == .skipped(from: "2011-12-30 00:00", to: "2011-12-31 00:00"))
        #expect(try position("2011-12-30", in: zone) == time("2011-12-30T10:00:00Z"))
        #expect(try position("2011-12-31", in: zone) == time("2011-12-30T10:00:00Z"))
    }

    @Test func `every seventh day from 1887 to 2134 agrees with Foundation's calendar`() {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        for day in stride(from: -30_000, to: 60_000, by: 7) {
            let date = Date(timeIntervalSince1970: Double(day) * 86_400)
            let parts = calendar.dateComponents([.year, .month, .day], from: date)
            let found = PositionParser.daysSince1970(
                year: parts.year ?? 0, month: parts.month ?? 0, day: parts.day ?? 0)
            #expect(found == day)
        }
    }

    @Test func `the system's time zone is that of Foundation`() {
        for day in stride(from: 0, to: 25_000, by: 3) {
            let seconds = day * 86_400 + 43_200
            let expected = TimeZone.current.secondsFromGMT(for: Date(timeIntervalSince1970: Double(seconds)))
            #expect(LocalTimeZone.system.offset(seconds) == expected)
        }
    }
}
