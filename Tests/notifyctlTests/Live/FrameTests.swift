import Testing

@testable import notifyctl

@Suite struct FrameTests {
    private func output(_ lines: [Frame.Line], rows: Int = 4, columns: Int = 5) -> String {
        Frame(lines: lines).output(on: Screen(rows: rows, columns: columns))
    }

    @Test func `a frame erases each row before its text, and the rows below`() {
        #expect(
            output([Frame.Line("abcde"), Frame.Line("f")])
                == "\u{1B}[1;1H\u{1B}[Kabcde\u{1B}[2;1H\u{1B}[Kf\u{1B}[3;1H\u{1B}[J")
    }

    @Test func `rows and columns that do not fit are cut`() {
        #expect(output([Frame.Line("abcdefg"), Frame.Line("f")], rows: 1) == "\u{1B}[1;1H\u{1B}[Kabcde")
    }

    @Test func `titles are in reverse video over the whole width`() {
        #expect(
            output([Frame.Line("ab", isTitle: true)], rows: 1)
                .hasSuffix("\u{1B}[7m\u{1B}[4m\u{1B}[24mab   \u{1B}[m"))
        #expect(
            output([Frame.Line("abcdef", isTitle: true, underlined: 1..<3)], rows: 1)
                .hasSuffix("\u{1B}[7ma\u{1B}[4mbc\u{1B}[24mde\u{1B}[m"))
        #expect(
            output([Frame.Line("abcdefgh", isTitle: true, underlined: 6..<8)], rows: 1)
                .hasSuffix("\u{1B}[7mabcde\u{1B}[4m\u{1B}[24m\u{1B}[m"))
    }

    @Test func `control characters are replaced`() {
        #expect(Frame.Line("a\u{1B}[2J\n").text == "a\u{FFFD}[2J\u{FFFD}")
    }

    @Test func `parts are joined to lines that fit`() {
        let parts = ["aa", "bb", "longer", "c"]
        #expect(Frame.wrapped(parts, columns: 6).map(\.text) == ["aa  bb", "longer", "c"])
        #expect(Frame.wrapped(parts, columns: 5).map(\.text) == ["aa", "bb", "longer", "c"])
        #expect(Frame.wrapped(parts, columns: 80).map(\.text) == ["aa  bb  longer  c"])
    }
}
