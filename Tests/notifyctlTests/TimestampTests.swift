import Foundation
import NotifyClient
import Testing

@testable import notifyctl

@Suite struct TimestampTests {
    @Test(arguments: [
        (0, "1970-01-01T00:00:00.000000Z"),
        (951_782_400_000_001, "2000-02-29T00:00:00.000001Z"),
        (951_868_799_999_999, "2000-02-29T23:59:59.999999Z"),
        (1_709_164_800_000_000, "2024-02-29T00:00:00.000000Z"),
        (4_107_542_400_000_000, "2100-03-01T00:00:00.000000Z"),
    ])
    func `times are written in UTC with microseconds`(microseconds: UInt64, text: String) {
        #expect(Timestamp.text(microseconds: microseconds) == text)
    }

    /// Central European time in 2026, with daylight-saving time from 2026-03-29T01:00Z to 2026-10-25T01:00Z.
    private static let berlin = LocalTimeZone { (1_774_746_000..<1_792_890_000).contains($0) ? 7200 : 3600 }

    @Test(
        arguments: [
            (1_795_346_130_123_999, 3600, "2026-11-22T12:15:30.123+01:00"),
            (1_795_346_130_000_000, -12_600, "2026-11-22T07:45:30.000-03:30"),
            (0, -3600, "1969-12-31T23:00:00.000-01:00"),
            // Liberia, before 1972: 44 minutes and 30 seconds behind.
            (60_000_000, -2670, "1969-12-31T23:17:00.000-00:44"),
        ] as [(UInt64, Int, String)])
    func `local times have milliseconds and their offset`(microseconds: UInt64, offset: Int, text: String) {
        #expect(TimeStyle.local(LocalTimeZone { _ in offset }).text(microseconds: microseconds) == text)
    }

    @Test(arguments: [
        // The clock is set back, and shows the same time twice.
        (1_792_888_200, "2026-10-25T02:30:00.000+02:00"), (1_792_891_800, "2026-10-25T02:30:00.000+01:00"),
        (1_774_745_999, "2026-03-29T01:59:59.000+01:00"), (1_774_746_000, "2026-03-29T03:00:00.000+02:00"),
    ])
    func `a printed local time is read back as the same time`(seconds: Int, text: String) throws {
        #expect(TimeStyle.local(Self.berlin).text(microseconds: UInt64(seconds) * 1_000_000) == text)
        let parser = PositionParser(now: seconds, zone: Self.berlin)
        #expect(try parser.position(text) == .time(Date(timeIntervalSince1970: Double(seconds))))
    }

    @Test(
        arguments: [
            (Double(UInt64.max) / 1_000_000, .max), (.infinity, .max), (-1, 0), (-.infinity, 0),
            (9_223_372_036_854.775, 9_223_372_036_854_775_000),
        ] as [(Double, UInt64)])
    func `a time that has no number of microseconds becomes the nearest`(seconds: Double, microseconds: UInt64) {
        let date = Date(timeIntervalSince1970: seconds)
        let found = Timestamp.microseconds(date)
        // A `Date` this far away is exact to a few milliseconds.
        #expect(max(found, microseconds) - min(found, microseconds) < 10_000)
        #expect(!TimeStyle.utc.text(date).isEmpty)
    }

    @Test func `times are exact in a pipe, and local on a terminal`() throws {
        let (date, microseconds) = (Date(timeIntervalSince1970: 1_795_346_130.123457), UInt64(1_795_346_130_123_457))
        #expect(Timestamp.microseconds(date) == microseconds)
        #expect(TimeStyle.utc.text(date) == "2026-11-22T11:15:30.123Z")
        let (read, write) = try makePipe()
        let terminal = try PseudoTerminal()
        for (descriptor, isUTC, text) in [
            (write, false, "2026-11-22T11:15:30.123457Z"), (write, true, "2026-11-22T11:15:30.123457Z"),
            (terminal.terminal, true, "2026-11-22T11:15:30.123Z"),
            (terminal.terminal, false, TimeStyle.local(.system).text(date)),
        ] {
            #expect(TimeStyle.of(descriptor, isUTC: isUTC).text(date) == text)
        }
        close(read)
        close(write)
    }

    @Test func `every seventeenth day from 1970 to 2243 agrees with Foundation's calendar`() {
        let formatter = ISO8601DateFormatter()
        for day in stride(from: 0, to: 100_000, by: 17) {
            let seconds = day * 86_400 + day % 86_400
            let expected = formatter.string(from: Date(timeIntervalSince1970: Double(seconds)))
            #expect(Timestamp.text(microseconds: UInt64(seconds) * 1_000_000) == expected.dropLast() + ".000000Z")
        }
    }
}
