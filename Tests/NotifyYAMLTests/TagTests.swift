import Testing

@testable import NotifyYAML

/// The types of plain scalars: those of YAML 1.1, with the exceptions of `Node.Tag.init(ofPlain:)`.
@Suite struct TagTests {
    private static let plain: [(tag: Node.Tag, texts: [String])] = [
        (.null, ["", "~", "null", "Null", "NULL"]),
        (.bool, ["yes", "No", "TRUE", "false", "on", "Off"]),
        (
            .int,
            [
                "0", "5", "-1", "+7", "1_000", "0b101", "0x1F", "0o17", "017", "0_7", "-0x_f", "1:30", "190:20:30",
                "99999999999999999999999",
            ]
        ),
        (
            .float,
            ["5.", "0.5", "-1_0.5e+3", "1e9", ".5", "._5e+1", "1:30.5", ".inf", "-.INF", "+.Inf", ".nan", "08", "09"]
        ),
        (
            .timestamp,
            [
                "2001-12-14", "2001-12-14T21:59:43.10-05:00", "2001-1-4 1:59:43", "2001-12-14t21:59:43Z",
                "2001-12-14 21:59:43.1 +1",
            ]
        ),
        (.merge, ["<<"]), (.value, ["="]),
        (
            .str,
            [
                "a", "nULL", "yES", "y", "-", "+", "_1", "0b", "0b2", "0x", "0xg", "1:60", "1:", ":30", "1:2a", "5x",
                "5e",
                "1e+", ".", ".e", ".5e3", "+.5", ".iNF", "+.nan", "--1", "1-1-1", "2001-12-1", "2001-12-14T",
                "2001-12-14T1:2:3", "2001-12-14 21:59:43 5", "/a", "1 2", "1.2.3", "10GiB", "１",
            ]
        ),
    ]

    @Test(arguments: plain)
    func `a plain scalar has the type of its form`(_ tag: Node.Tag, _ texts: [String]) {
        for text in texts { #expect(Node.Tag(ofPlain: text) == tag, "\(text)") }
    }

    private static let integers: [(text: String, value: Int?)] = [
        ("0", 0), ("-12", -12), ("+12", 12), ("1_000", 1000), ("0b101", 5), ("-0x1F", -31), ("0o17", 15), ("017", 15),
        ("00", 0), ("1:30", 90), ("-1:0:1", -3601), ("9223372036854775807", .max), ("-9223372036854775808", .min),
        ("9223372036854775808", nil), ("0x", nil), ("", nil), ("five", nil), ("1.5", nil), ("1:2a", nil),
        ("1:2.5", nil), ("++5", nil), ("-+5", nil), ("999999999999:0:0:0:0:0:0:0:0:0", nil),
    ]

    @Test(arguments: integers)
    func `integers are read in every base`(_ text: String, _ value: Int?) {
        #expect(Numbers.integer(text) == value)
    }

    private static let numbers: [(text: String, value: Double?)] = [
        ("5", 5), ("-0.5", -0.5), ("1_0.5e+1", 105), (".5", 0.5), ("1:30.5", 90.5), ("-1:30.5", -90.5),
        (".inf", .infinity), ("+.Inf", .infinity), ("-.INF", -.infinity), ("", nil), ("soon", nil), ("1:x", nil),
    ]

    @Test(arguments: numbers)
    func `numbers are read with fractions and exponents`(_ text: String, _ value: Double?) {
        #expect(Numbers.float(text) == value)
    }

    @Test func `the number NaN is read`() {
        #expect(Numbers.float(".NaN")?.isNaN == true)
    }
}
