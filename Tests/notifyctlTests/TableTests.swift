import Testing

@testable import notifyctl

@Suite struct TableTests {
    @Test func `columns are aligned, numbers to the right`() {
        var table = Table([.text("NAME"), .number("POSTS"), .text("PATTERNS")])
        table.append(["a", "12345678", "x y"])
        table.append(["billing", "9", "-"])
        #expect(
            table.lines() == [
                "NAME        POSTS  PATTERNS",
                "a        12345678  x y",
                "billing         9  -",
            ])
    }

    @Test func `characters that change the direction of text are replaced like control characters`() {
        let scalars = ([0x061C, 0x200E, 0x200F, 0x9B, 0x1B] + Array(0x202A...0x202E) + Array(0x2066...0x2069))
            .compactMap { Unicode.Scalar(UInt32($0)) }
        for scalar in scalars {
            #expect(Table.printable("a\(scalar)b") == "a\u{FFFD}b")
            var bytes = Array("\(scalar)\n".utf8)
            MessageFormat.replaceControls(in: &bytes, from: 0)
            #expect(bytes == Array("\u{FFFD}\n".utf8))
        }
        // Letters of scripts from right to left, joiners and emoji are not replaced.
        for text in ["שלום", "مرحبا", "a\u{200D}b", "👩‍🚀"] { #expect(Table.printable(text) == text) }
    }

    @Test func `columns are at least as wide as requested, and have a range in each line`() {
        var table = Table([.text("A"), .number("B"), .text("C")], minimumWidths: [3, 1, 2])
        table.append(["a", "1234", "c"])
        #expect(table.lines() == ["A       B  C", "a    1234  c"])
        #expect(table.widths == [3, 4, 2])
        #expect((0..<3).map(TableLayout(table, .full).range) == [0..<3, 5..<9, 11..<13])
    }

    @Test func `the width of a column is that of its text on a terminal, not its number of bytes`() {
        var table = Table([.text("A"), .text("B")])
        for (text, end) in [("üñ🇫🇷", "w"), ("注文", "x"), ("주", "y"), ("abcd", "z")] { table.append([text, end]) }
        #expect(table.lines() == ["A     B", "üñ🇫🇷  w", "注文  x", "주    y", "abcd  z"])
    }

    @Test func `control characters in cells are replaced`() {
        var table = Table([.text("OBJECT")])
        table.append(["a\u{1B}[2Jb\nc\u{9B}ü"])
        #expect(table.lines() == ["OBJECT", "a\u{FFFD}[2Jb\u{FFFD}c\u{FFFD}ü"])
    }

    @Test(
        arguments: [
            (0, "0s"), (59, "59s"), (60, "1m0s"), (3_599, "59m59s"), (3_600, "1h0m"), (86_399, "23h59m"),
            (86_400, "1d0h"), (90_000, "1d1h"),
        ] as [(UInt64, String)])
    func `durations are written in their two largest units`(seconds: UInt64, text: String) {
        #expect(Quantities.duration(seconds: seconds) == text)
    }

    @Test(
        arguments: [
            (0, "0B"), (1_023, "1023B"), (1_024, "1KiB"), (1_536, "1.5KiB"), (1_048_575, "1023.9KiB"),
            (1 << 20, "1MiB"), (5 << 30, "5GiB"), (.max, "16777215.9TiB"),
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
