import NotifyUnits
import Testing

@Suite struct QuantityTests {
    @Test(arguments: [
        ("0", 0), ("4096", 4096), ("64KiB", 65_536), ("512MiB", 536_870_912), ("10GiB", 10_737_418_240),
        ("2TiB", 2_199_023_255_552), ("1.5GiB", 1_610_612_736), ("0.5KiB", 512), ("18446744073709551615", UInt64.max),
        ("16777215TiB", 16_777_215 << 40),
    ])
    func `sizes are parsed with their unit`(_ text: String, _ bytes: UInt64) {
        #expect(Quantity.bytes(text) == bytes)
    }

    @Test(arguments: [
        "", "KiB", "10GB", "10G", "10gib", "10 GiB", " 10GiB", "10GiB ", "1.GiB", ".5GiB", "-1", "+1", "1_000", "0x10",
        "١MiB", "10B", "10KiBKiB", "1.5", "0.0001KiB", "010", "00", "007MiB", "18446744073709551616", "16777216TiB",
        "16777215.999999999TiB1",
    ])
    func `invalid sizes are refused`(_ text: String) {
        #expect(Quantity.bytes(text) == nil)
    }

    @Test(arguments: [
        ("0", Duration.zero), ("0s", .zero), ("5", .seconds(5)), ("0.5", .milliseconds(500)), ("90s", .seconds(90)),
        ("500ms", .milliseconds(500)), ("15m", .seconds(900)), ("24h", .seconds(86_400)), ("7d", .seconds(604_800)),
        ("1w", .seconds(604_800)), ("1.5h", .seconds(5400)), ("1h30m", .seconds(5400)),
        ("1w2d3h4m5s6ms", .milliseconds(788_645_006)), ("1m0.5s", .milliseconds(60_500)),
    ])
    func `durations are parsed with their units`(_ text: String, _ duration: Duration) {
        #expect(Quantity.duration(text) == duration)
    }

    @Test(arguments: [
        "", "h", "24H", "-1h", "1h 30m", "30m1h", "1h1h", "1.5h30m", "1h30", "010", "05m", "1h05m", "1.s", "1e3",
        "1:30",
        "5y",
    ])
    func `invalid durations are refused`(_ text: String) {
        #expect(Quantity.duration(text) == nil)
    }

    @Test(arguments: ["9223372037s", "400000d", "18446744073709551616", "99999999999999999999w1s"])
    func `a duration that is too long is parsed as the longest one`(_ text: String) {
        #expect(Quantity.duration(text) == .nanoseconds(Int64.max))
    }

    @Test(
        arguments: [
            (0, "0B"), (1_023, "1023B"), (1_024, "1KiB"), (1_536, "1.5KiB"), (1_048_575, "1023.9KiB"),
            (1 << 20, "1MiB"), (1_153_433, "1MiB"), (1_153_434, "1.1MiB"), (5 << 30, "5GiB"), (3 << 39, "1.5TiB"),
            (.max, "16777215.9TiB"),
        ] as [(UInt64, String)])
    func `sizes are rounded down to a tenth`(bytes: UInt64, text: String) {
        #expect(Quantity.rounded(bytes: bytes) == text)
    }

    @Test func `counts are decimal numbers`() {
        #expect(Quantity.count("0") == 0 && Quantity.count("9223372036854775807") == .max)
        for text in ["", "010", "-1", "+1", "1.0", "0x1", "9223372036854775808"] {
            #expect(Quantity.count(text) == nil)
        }
    }

    @Test func `a range of sizes is printed in its largest units`() {
        let text = "a size from 1KiB to 3MiB, a number of bytes or one with the unit KiB, MiB, GiB or TiB"
        #expect(Quantity.expectation(ofBytes: 1024...(3 << 20)) == text)
        #expect(Quantity.expectation(ofBytes: 0...1025).hasPrefix("a size from 0 to 1025, "))
    }

    @Test func `a range of durations is printed in its largest units`() {
        #expect(Quantity.expectation(of: .seconds(90)...(.seconds(604_800))).hasPrefix("a duration from 90s to 7d, "))
        #expect(Quantity.expectation(of: .zero ... .seconds(7200)).hasPrefix("a duration from 0 to 2h, "))
        #expect(Quantity.describe(.microseconds(1_500)) == "2ms")
    }
}
