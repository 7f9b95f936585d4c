import Testing

@testable import NotifyServer

@Suite struct QuantityTests {
    @Test(arguments: [
        ("0", 0), ("4096", 4096), ("64KiB", 65_536), ("512MiB", 536_870_912), ("10GiB", 10_737_418_240),
        ("2TiB", 2_199_023_255_552), ("007MiB", 7_340_032), ("18446744073709551615", UInt64.max),
        ("16777215TiB", 16_777_215 << 40),
    ])
    func `sizes are parsed with their unit`(_ text: String, _ bytes: UInt64) {
        #expect(Quantity.bytes(text) == bytes)
    }

    @Test(arguments: [
        "", "KiB", "10GB", "10G", "10gib", "10 GiB", " 10GiB", "10GiB ", "1.5GiB", "-1", "+1", "1_000", "0x10", "١MiB",
        "10B", "10KiBKiB", "18446744073709551616", "16777216TiB",
    ])
    func `invalid sizes are refused`(_ text: String) {
        #expect(Quantity.bytes(text) == nil)
    }

    @Test(arguments: [
        ("0", Duration.zero), ("0s", .zero), ("90s", .seconds(90)), ("15m", .seconds(900)), ("24h", .seconds(86_400)),
        ("7d", .seconds(604_800)),
    ])
    func `durations are parsed with their unit`(_ text: String, _ duration: Duration) {
        #expect(Quantity.duration(text) == duration)
    }

    @Test(arguments: ["", "5", "h", "24H", "1h30m", "-1h", "1.5h", "1w", "9223372036854775808s"])
    func `invalid durations are refused`(_ text: String) {
        #expect(Quantity.duration(text) == nil)
    }

    @Test func `a range of sizes is printed in its largest units`() {
        let text = "a size from 1KiB to 3MiB, a number of bytes or one with the unit KiB, MiB, GiB or TiB"
        #expect(Quantity.expectation(ofBytes: 1024...(3 << 20)) == text)
        #expect(Quantity.expectation(ofBytes: 0...1025).hasPrefix("a size from 0 to 1025, "))
    }

    @Test func `a range of durations is printed in its largest units`() {
        let text = "a duration from 90s to 7d, a number with the unit s, m, h or d such as 90s or 24h"
        #expect(Quantity.expectation(of: .seconds(90)...(.seconds(604_800))) == text)
        #expect(Quantity.expectation(of: .zero ... .seconds(7200)).hasPrefix("a duration from 0 to 2h, "))
    }
}
