import Testing

@testable import NotifyCenter

@Suite struct NotificationNameTests {
    private static func name(bytes count: Int) -> String { String(repeating: "a", count: count) }
    private static func name(tokens count: Int) -> String { Array(repeating: "t", count: count).joined(separator: ".") }

    /// Returns the error of validating bytes as a name, or nil if the bytes are valid.
    private static func errorOfName(_ bytes: [UInt8]) -> NameError? {
        bytes.withUnsafeBytes { (buffer) -> NameError? in
            do throws(NameError) {
                try NotificationName.validate(utf8: buffer)
                return nil
            } catch {
                return error
            }
        }
    }

    @Test(arguments: [
        "a", "a.b", "orders.created", "a*", "*a.b", "a.>>", "a.<>", "1.2.3", "~", "!", "ümlaut.straße", "日本.通知", "🦊.🐻",
        "\u{A0}", "\u{2028}",
    ])
    func `valid names are accepted`(_ string: String) throws {
        let name = try NotificationName(string)
        #expect(name.string == string)
        #expect(name.description == string)
        #expect(Self.errorOfName(Array(string.utf8)) == nil)
    }

    @Test func `the length is limited to 255 bytes`() throws {
        for count in [1, 254, 255] { #expect(throws: Never.self) { try NotificationName(Self.name(bytes: count)) } }
        let error = try #require(throws: NameError.self) { try NotificationName(Self.name(bytes: 256)) }
        #expect(error.code == .tooLong)
        #expect(error.message.contains("256 bytes"))
        let multibyte = String(repeating: "é", count: 127)
        #expect(throws: Never.self) { try NotificationName(multibyte + "a") }
        #expect(throws: NameError.self) { try NotificationName(multibyte + "é") }
    }

    @Test func `the number of tokens is limited to 32`() throws {
        for count in [31, 32] { #expect(throws: Never.self) { try NotificationName(Self.name(tokens: count)) } }
        let error = try #require(throws: NameError.self) { try NotificationName(Self.name(tokens: 33)) }
        #expect(error.code == .tooManyTokens)
        #expect(error.tokenIndex == 32)
        #expect(error.byteOffset == 64)
    }

    @Test func `an empty name is refused`() {
        #expect(Self.errorOfName([])?.code == .empty)
        #expect(throws: NameError.self) { try NotificationName(String()) }
    }

    @Test(arguments: [(".", 0, 0), (".a", 0, 0), ("a.", 2, 1), ("a..b", 2, 1), ("ab.cd.", 6, 2), ("..", 0, 0)])
    func `empty tokens are refused with their position`(_ string: String, offset: Int, token: Int) throws {
        let error = try #require(throws: NameError.self) { try NotificationName(string) }
        #expect(error.code == .emptyToken)
        #expect(error.byteOffset == offset)
        #expect(error.tokenIndex == token)
        #expect(error.message.contains("token \(token + 1), byte offset \(offset)"))
    }

    @Test func `every control character and the space are refused`() {
        for scalar in [Array(0...0x20), Array(0x7F...0x9F)].joined() {
            let character = Character(Unicode.Scalar(UInt8(scalar)))
            let error = Self.errorOfName(Array("a.b\(character)c".utf8))
            #expect(error?.code == .forbiddenCharacter, "U+\(String(scalar, radix: 16))")
            #expect(error?.byteOffset == 3)
            #expect(error?.tokenIndex == 1)
        }
        #expect(Self.errorOfName(Array("a b".utf8))?.message.contains("a space") == true)
        #expect(Self.errorOfName([0x61, 0x07])?.message.contains("U+0007") == true)
        for scalar in [0x21, 0x7E, 0xA0] as [UInt8] {
            #expect(Self.errorOfName(Array("a\(Character(Unicode.Scalar(scalar)))".utf8)) == nil)
        }
    }

    @Test(
        arguments: [
            [0x80], [0xBF], [0xC0, 0x80], [0xC1, 0xBF], [0xC3], [0xC3, 0x28], [0xE0, 0x80, 0x80], [0xE0, 0x9F, 0xBF],
            [0xE2, 0x82], [0xE2, 0x28, 0xA1], [0xE2, 0x82, 0x28], [0xED, 0xA0, 0x80], [0xED, 0xBF, 0xBF],
            [0xF0, 0x80, 0x80, 0x80],
            [0xF0, 0x8F, 0xBF, 0xBF], [0xF0, 0x9F, 0xA6], [0xF0, 0x9F, 0x28, 0x8A], [0xF0, 0x9F, 0xA6, 0x28],
            [0xF4, 0x90, 0x80, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xFE], [0xFF], [0xC3, 0x2E, 0x61],
        ] as [[UInt8]])
    func `invalid UTF-8 is refused`(_ bytes: [UInt8]) {
        for prefix in [[], Array("tok.".utf8)] as [[UInt8]] {
            let error = Self.errorOfName(prefix + bytes)
            #expect(error?.code == .invalidUTF8)
            #expect(error?.byteOffset == prefix.count)
            #expect(Self.errorOfName(prefix + bytes + Array("abcd".utf8))?.code == .invalidUTF8)
        }
    }

    @Test func `every Unicode scalar is accepted or refused by its value`() {
        for value in UInt32(0)...0x10FFFF {
            guard let scalar = Unicode.Scalar(value) else { continue }
            let bytes = Array(String(Character(scalar)).utf8)
            let expected: NameError.Code? =
                switch value {
                case 0...0x20, 0x7F...0x9F: .forbiddenCharacter
                case 0x2A, 0x3E: .wildcardInName
                case 0x2E: .emptyToken
                default: nil
                }
            let found = Self.errorOfName(bytes)?.code
            // Issues are recorded only for failures, because an expectation for each scalar would take minutes.
            if found != expected { Issue.record("U+\(String(value, radix: 16)): \(String(describing: found))") }
        }
    }

    @Test(arguments: [("*", 0), (">", 0), ("a.*", 2), ("a.>", 2), ("*.a", 0), ("a.>.b", 2)])
    func `wildcards are refused in names`(_ string: String, offset: Int) throws {
        let error = try #require(throws: NameError.self) { try NotificationName(string) }
        #expect(error.code == .wildcardInName)
        #expect(error.byteOffset == offset)
        #expect(!error.isPattern)
    }

    @Test func `names are equal if their bytes are equal`() throws {
        let composed = NotificationName("caf\u{E9}")
        let decomposed = NotificationName("cafe\u{301}")
        #expect(composed.string == decomposed.string)
        #expect(composed != decomposed)
        #expect(Set([composed, decomposed, composed]).count == 2)
        #expect(NotificationName("Orders") != NotificationName("orders"))
        #expect(NotificationName("a.long.name.of.its.own") == NotificationName("a.long.name.of.its.own"))
        #expect(NotificationName("a.long.name.of.its.own") != NotificationName("a.long.name.of.its.owm"))
    }

    @Test func `bytes and strings make the same name`() throws {
        let string = "a.name.with.ümlaut"
        let name = try Array(string.utf8).withUnsafeBytes { buffer in
            Result { () throws(NameError) in try NotificationName(utf8: buffer) }
        }.get()
        #expect(try name == NotificationName(string))
        #expect(name == NotificationName(literal: "a.name.with.ümlaut"))
        #expect(name.withUTF8 { Array($0) } == Array(string.utf8))
    }

    @Test func `unchecked names may be any string`() {
        #expect(NotificationName(unchecked: "has a space").string == "has a space")
        #expect(NotificationName(unchecked: "").string == "")
    }
}
