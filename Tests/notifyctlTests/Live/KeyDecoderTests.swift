import Testing

@testable import notifyctl

@Suite struct KeyDecoderTests {
    /// Bytes that terminals send, with the keys that they mean.
    static let sequences: [(String, [Key])] = [
        ("q", [.character("q")]), ("<>", [.character("<"), .character(">")]), ("ü", [.character("ü")]),
        ("€", [.character("€")]), ("🎉", [.character("🎉")]), ("\r", [.enter]), ("\n", [.enter]), ("\t", [.tab]),
        ("\u{7F}", [.backspace]), ("\u{08}", [.backspace]), ("\u{15}", [.clearLine]),
        ("\u{1B}[A", [.up]), ("\u{1B}[B", [.down]), ("\u{1B}[C", [.right]), ("\u{1B}[D", [.left]),
        ("\u{1B}OA", [.up]), ("\u{1B}OD", [.left]), ("\u{1B}OM", [.enter]), ("\u{1B}[H", [.home]), ("\u{1B}[F", [.end]),
        ("\u{1B}[1~", [.home]), ("\u{1B}[4~", [.end]), ("\u{1B}[5~", [.pageUp]), ("\u{1B}[6~", [.pageDown]),
        ("\u{1B}[5;2~", [.pageUp]), ("\u{1B}[1;5A", [.up]), ("\u{1B}[Z", [.backTab]),
        ("\u{1B}[15~", []), ("\u{1B}[200~", []), ("\u{1B}[E", []), ("\u{01}", []),
        ("\u{1B}\u{1B}[A", [.escape, .up]), ("\u{1B}q", [.escape, .character("q")]),
        ("a\u{1B}[Bb", [.character("a"), .down, .character("b")]),
    ]

    @Test(arguments: sequences)
    func `keys are decoded from the bytes that terminals send`(text: String, keys: [Key]) {
        var decoder = KeyDecoder()
        #expect(decoder.decode(Array(text.utf8)) == keys)
        #expect(!decoder.isWaiting)
    }

    @Test(arguments: sequences)
    func `keys are decoded from single bytes`(text: String, keys: [Key]) {
        var decoder = KeyDecoder()
        #expect(text.utf8.flatMap { decoder.decode([$0]) } == keys)
        #expect(!decoder.isWaiting)
    }

    @Test func `an escape byte is a key if no byte follows`() {
        var decoder = KeyDecoder()
        #expect(decoder.decode([0x1B]) == [])
        #expect(decoder.isWaiting)
        #expect(decoder.finish() == [.escape])
        #expect(!decoder.isWaiting)
        #expect(decoder.finish() == [])
        #expect(decoder.decode(Array("[A".utf8)) == [.character("["), .character("A")])
    }

    @Test(
        arguments: [
            ("\u{1B}[", [.escape, .character("[")]), ("\u{1B}O", [.escape, .character("O")]),
            ("\u{1B}[5", [.escape, .character("["), .character("5")]),
        ] as [(String, [Key])])
    func `a sequence that does not continue is decoded as keys`(text: String, keys: [Key]) {
        var decoder = KeyDecoder()
        #expect(decoder.decode(Array(text.utf8)) == [])
        #expect(decoder.finish() == keys)
    }

    @Test func `bytes that are not UTF-8 are skipped`() {
        var decoder = KeyDecoder()
        let bytes: [UInt8] = [0xFF, 0x61, 0x80, 0xC3, 0x28, 0x62]
        #expect(decoder.decode(bytes) == [.character("a"), .character("("), .character("b")])
        #expect(decoder.decode([0xE2, 0x82]) == [])
        #expect(decoder.finish() == [])
    }

    @Test func `an endless sequence is skipped`() {
        var decoder = KeyDecoder()
        #expect(decoder.decode(Array("\u{1B}[".utf8) + [UInt8](repeating: 0x31, count: 30)) == [])
        #expect(!decoder.isWaiting)
        #expect(decoder.decode([0x71]) == [.character("q")])
    }
}
