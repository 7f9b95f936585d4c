import Testing

@testable import notifyctl

/// The last bytes of a command's standard error.
@Suite struct OutputTailTests {
    private func tail(_ parts: [UInt8]...) -> String {
        let tail = OutputTail()
        for part in parts { tail.append(part) }
        return tail.text
    }

    @Test func `the last 1 KiB is kept, however it is divided into pieces`() {
        #expect(tail() == "")
        #expect(tail(Array("one\n".utf8), Array("two\n".utf8)) == "one\ntwo")
        let digits = (0..<5_000).map { UInt8(ascii: "0") + UInt8($0 % 10) }
        let expected = String(decoding: digits.suffix(1_024), as: UTF8.self)
        #expect(tail(digits) == expected)
        let kept = OutputTail()
        for digit in digits { kept.append([digit]) }
        #expect(kept.text == expected)
    }

    @Test func `the text has no partial, invalid or control characters`() {
        // Each character has three bytes. The first kept character lacks two of them, and is dropped.
        let euros = Array(String(repeating: "€", count: 400).utf8)
        #expect(tail(euros) == String(repeating: "€", count: 341))
        #expect(tail([0x61, 0xFF, 0x62]) == "a\u{FFFD}b")
        #expect(tail([0xE2, 0x82]) == "\u{FFFD}")
        #expect(tail(Array("\r\n  a\tb\u{1B}[0m\u{0}\u{85}c\r\n\n ".utf8)) == "a b\u{FFFD}[0m\u{FFFD}\u{FFFD}c")
        #expect(tail(Array(" \n\t ".utf8)) == "")
    }

    @Test func `a carriage return ends a line`() {
        let parts = ["\r10%\r20%", "\r\rfailed\r\n\r\nwhy\r\r\n\r"].map { Array($0.utf8) }
        #expect(tail(parts[0], parts[1]) == "10%\n20%\nfailed\n\nwhy")
    }
}
