import Testing

@testable import notifyctl

@Suite struct TableTests {
    @Test func `columns are aligned, numbers to the right`() {
        var table = Table([.text("NAME"), .number("POSTS"), .text("PATTERNS")])
        table.append(["a", "12345678", "x y"])
        table.append(["billing", "9", "-"])
        #expect(
            table.lines == [
                "NAME        POSTS  PATTERNS",
                "a        12345678  x y",
                "billing         9  -",
            ])
    }

    @Test func `columns are at least as wide as requested, and have a range in each line`() {
        var table = Table([.text("A"), .number("B"), .text("C")], minimumWidths: [3, 1, 2])
        table.append(["a", "1234", "c"])
        #expect(table.lines == ["A       B  C", "a    1234  c"])
        #expect(table.widths == [3, 4, 2])
        #expect((0..<3).map(table.range) == [0..<3, 5..<9, 11..<13])
    }

    @Test func `columns are as wide as their characters, not as their bytes`() {
        var table = Table([.text("A"), .text("B")])
        table.append(["üñ🇫🇷", "x"])
        table.append(["abcd", "y"])
        #expect(table.lines == ["A     B", "üñ🇫🇷   x", "abcd  y"])
    }

    @Test func `control characters in cells are replaced`() {
        var table = Table([.text("OBJECT")])
        table.append(["a\u{1B}[2Jb\nc\u{9B}ü"])
        #expect(table.lines == ["OBJECT", "a\u{FFFD}[2Jb\u{FFFD}c\u{FFFD}ü"])
    }

    @Test(
        arguments: [
            (0, "0s"), (59, "59s"), (60, "1m0s"), (3_599, "59m59s"), (3_600, "1h0m"), (86_399, "23h59m"),
            (86_400, "1d0h"), (90_000, "1d1h"),
        ] as [(UInt64, String)])
    func `durations have two units`(seconds: UInt64, text: String) {
        #expect(Quantities.duration(seconds: seconds) == text)
    }

    @Test(
        arguments: [
            (0, "0B"), (1_023, "1023B"), (1_024, "1KiB"), (1_536, "1.5KiB"), (1_048_575, "1023.9KiB"),
            (1 << 20, "1MiB"), (5 << 30, "5GiB"), (.max, "17179869183.9GiB"),
        ] as [(UInt64, String)])
    func `sizes have binary units`(bytes: UInt64, text: String) {
        #expect(Quantities.bytes(bytes) == text)
    }

    @Test func `a rate is the growth per second`() {
        #expect(Quantities.rate(from: 100, to: 400, in: .seconds(2)) == 150)
        #expect(Quantities.rate(from: 100, to: 100, in: .seconds(1)) == 0)
        #expect(Quantities.rate(from: 100, to: 30, in: .seconds(1)) == 30, "the counter has restarted")
    }
}
