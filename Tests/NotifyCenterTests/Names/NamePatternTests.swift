import Testing

@testable import NotifyCenter

@Suite struct NamePatternTests {
    @Test(arguments: ["*", ">", "a.*", "*.a", "a.*.b", "a.>", "*.>", "*.*.*", "a", "a.b", "a*", ">a.b", "ü.*"])
    func `valid patterns are accepted`(_ string: String) throws {
        let pattern = try NamePattern(string)
        #expect(pattern.string == string)
        #expect(pattern.isExact == !string.split(separator: ".").contains { $0 == "*" || $0 == ">" })
        #expect(pattern.startsWithWildcard == (string.hasPrefix("*.") || string == "*" || string == ">"))
    }

    @Test(arguments: [(">.a", 0), ("a.>.b", 2), (">.>", 0), ("a.*.>.*", 4)])
    func `a tail wildcard is accepted at the end only`(_ string: String, offset: Int) throws {
        let error = try #require(throws: NameError.self) { try NamePattern(string) }
        #expect(error.code == .misplacedTailWildcard)
        #expect(error.byteOffset == offset)
        #expect(error.isPattern)
    }

    @Test(arguments: [
        ("", NameError.Code.empty), ("a..b", .emptyToken), ("*.", .emptyToken), ("a b", .forbiddenCharacter),
        ("\u{85}", .forbiddenCharacter),
    ])
    func `the rules of names apply to patterns`(_ string: String, code: NameError.Code) throws {
        let error = try #require(throws: NameError.self) { try NamePattern(string) }
        #expect(error.code == code)
        #expect(error.isPattern)
        #expect(error.message.contains("pattern"))
    }

    @Test func `the limits of names apply to patterns`() {
        let tokens = { (count: Int) in Array(repeating: "*", count: count).joined(separator: ".") }
        for count in [31, 32] { #expect(throws: Never.self) { try NamePattern(tokens(count)) } }
        #expect(throws: NameError.self) { try NamePattern(tokens(33)) }
        for count in [254, 255] {
            #expect(throws: Never.self) { try NamePattern(String(repeating: "a", count: count)) }
        }
        #expect(throws: NameError.self) { try NamePattern(String(repeating: "a", count: 256)) }
    }

    @Test func `invalid bytes are refused`() {
        for bytes in [[0xFF], [0x2A, 0x2E, 0xC3], [0x00], []] as [[UInt8]] {
            #expect(throws: NameError.self) {
                try bytes.withUnsafeBytes { buffer in
                    Result { () throws(NameError) in try NamePattern(utf8: buffer) }
                }.get()
            }
        }
    }

    @Test(arguments: [
        ("a", "a", true), ("a", "b", false), ("a", "a.b", false), ("a.b", "a", false), ("*", "a", true),
        ("*", "a.b", false),
        ("*.*", "a.b", true), ("*.*", "a", false), ("*.*", "a.b.c", false), ("a.*", "a.b", true), ("a.*", "b.b", false),
        ("a.*", "a", false), ("a.*.c", "a.b.c", true), ("a.*.c", "a.b.d", false), ("a.*.c", "a.b", false),
        ("*.c", "abc.c", true), ("*.c", "abc.d", false), (">", "a", true), (">", "a.b.c", true), ("a.>", "a", false),
        ("a.>", "a.b", true), ("a.>", "a.b.c", true), ("a.>", "ab.c", false), ("*.>", "a", false), ("*.>", "a.b", true),
        ("a.*.>", "a.b", false), ("a.*.>", "a.b.c", true), ("a.b*", "a.bc", false), ("a.b*", "a.b*", true),
        ("a.b>", "a.b>", true), ("ab.*", "a.b", false), ("a.*", "ab.c", false), ("ü.*", "ü.ö", true),
        ("ü.*", "u.ö", false),
        ("*.kitchen", "sensor.kitchen", true), ("*.kitchen", "sensor.kitche", false),
        ("sensor.*.temperature", "sensor.kitchen.temperature", true), ("*x.*", "*x.b", true), ("*x.*", "ax.b", false),
        (">x.*", ">x.b", true), (">x.*", "a.b", false), ("*.*a", "b.*a", true), ("*.*a", "b.ca", false),
        ("*.>a.>", "b.>a.c", true), ("*.>a.>", "b.c.d", false),
    ])
    func `patterns match token by token`(_ pattern: String, _ name: String, _ expected: Bool) throws {
        #expect(try NamePattern(pattern).matches(NotificationName(name)) == expected)
    }

    @Test func `wildcards match the longest names`() throws {
        let tokens = Array(repeating: "t", count: 32)
        let name = try NotificationName(tokens.joined(separator: "."))
        #expect(NamePattern(">").matches(name))
        #expect(try NamePattern(Array(repeating: "*", count: 32).joined(separator: ".")).matches(name))
        #expect(try !NamePattern(Array(repeating: "*", count: 31).joined(separator: ".")).matches(name))
        #expect(try NamePattern(Array(repeating: "*", count: 31).joined(separator: ".") + ".>").matches(name))
        let long = try NotificationName(String(repeating: "x", count: 255))
        #expect(NamePattern("*").matches(long))
    }

    @Test func `unchecked names keep their empty tokens`() throws {
        #expect(NamePattern("a.*.b").matches(NotificationName(unchecked: "a..b")))
        #expect(NamePattern("*").matches(NotificationName(unchecked: "")))
        #expect(!NamePattern("a.b").matches(NotificationName(unchecked: "a..b")))
    }

    @Test func `the pattern of a name is exact with any bytes`() throws {
        let odd = NamePattern(NotificationName(unchecked: "*"))
        #expect(odd.isExact)
        #expect(!odd.matches(NotificationName(unchecked: "a")))
        #expect(odd.matches(NotificationName(unchecked: "*")))
        #expect(odd != NamePattern("*"))
        #expect(NamePattern("a.b") == NamePattern(NotificationName("a.b")))
    }

    @Test func `patterns are sorted and deduplicated`() throws {
        let strings = ["b", "a.*", "a", "a.*", "ü", "abcdefgh.b", "abcdefgh.a", "abcdefgh", "a.>", "b", "z"]
        let sorted = NamePattern.sortedUniquely(try strings.map { try NamePattern($0) })
        let expected = Set(strings).sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        #expect(sorted.map(\.string) == expected)
        #expect(NamePattern("a.*.b.>").tokenCount == 4)
        #expect(NamePattern("ü").byteCount == 2)
    }
}
