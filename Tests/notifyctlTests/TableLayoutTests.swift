import Testing

@testable import notifyctl

@Suite struct TableLayoutTests {
    private let table: Table

    init() {
        var table = Table([
            .text("NAME"), .number("POSTS"), .text("PATTERNS"), .number("SEEN").wide, .text("OBJECT").wide,
        ])
        table.append(["orders.created.in.europe", "12345678", "orders.> stock.>", "7", "shop"])
        table.append(["a", "9", "a", "8", "-"])
        self.table = table
    }

    private func lines(_ columns: Int, isWide: Bool = false, keeping kept: Int? = nil, skipping: Int = 0) -> [String] {
        TableLayout(table, .fitting(columns: columns, isWide: isWide), keeping: kept, skipping: skipping)
            .lines(of: table)
    }

    @Test func `without a limit, every column is complete`() {
        #expect(
            table.lines() == [
                "NAME                         POSTS  PATTERNS          SEEN  OBJECT",
                "orders.created.in.europe  12345678  orders.> stock.>     7  shop",
                "a                                9  a                    8  -",
            ])
    }

    @Test func `with a limit, wide columns are shown only on request`() {
        #expect(
            lines(80) == [
                "NAME                         POSTS  PATTERNS",
                "orders.created.in.europe  12345678  orders.> stock.>",
                "a                                9  a",
            ])
        #expect(lines(80, isWide: true) == table.lines())
        #expect(lines(80, keeping: 3)[0].hasSuffix("PATTERNS          SEEN"))
    }

    @Test func `long texts are shortened in the middle, the longest first`() {
        #expect(
            lines(46) == [
                "NAME                   POSTS  PATTERNS", "orders.cr…n.europe  12345678  orders.> stock.>",
                "a                          9  a",
            ])
        #expect(lines(28) == ["NAME         POSTS  PATTERNS", "orde…ope  12345678  orde…k.>", "a                9  a"])
    }

    @Test func `if columns do not fit, the last ones are left out, and the titles end with an ellipsis`() {
        #expect(lines(27) == ["NAME               POSTS  …", "orders.…europe  12345678", "a                      9"])
        #expect(lines(21, keeping: 2) == ["NAME      PATTERNS  …", "orde…ope  orde…k.>", "a         a"])
        #expect(lines(29, skipping: 1)[0].hasPrefix("NAME "))
        #expect(lines(29, skipping: 1)[0].hasSuffix("  PATTERNS"))
    }

    @Test(arguments: 1...80, [false, true])
    func `no line is longer than the limit`(columns: Int, isWide: Bool) {
        for skipped in 0...5 {
            for kept in [nil, 0, 3] {
                let lines = lines(columns, isWide: isWide, keeping: kept, skipping: skipped)
                #expect(lines.allSatisfy { $0.columns <= columns }, "\(lines)")
                #expect(lines.count == 3)
            }
        }
    }

    @Test func `a time is complete or left out`() {
        var table = Table([.text("NAME"), .time("TIME"), .number("N")])
        table.append(["abcdefghijkl", "12:00:00", "1"])
        func lines(_ columns: Int) -> [String] { table.lines(in: .fitting(columns: columns, isWide: false)) }
        #expect(lines(21)[1] == "abcd…jkl  12:00:00  1")
        #expect(lines(13) == ["NAME        …", "abcde…ijkl"])
    }

    @Test func `text is shortened by columns, not by characters`() {
        #expect("abcdefg".shortened(toColumns: 7) == "abcdefg")
        #expect("abcdefg".shortened(toColumns: 6) == "abc…fg")
        #expect("abcdefg".shortened(toColumns: 1) == "…")
        #expect("abcdefg".shortened(toColumns: 0) == "")
        #expect("注文注文".shortened(toColumns: 7) == "注…文")
        #expect("注文注文".prefix(columns: 5) == "注文")
        #expect("e\u{301}🙂☂\u{FE0F}".columns == 5)
    }
}
