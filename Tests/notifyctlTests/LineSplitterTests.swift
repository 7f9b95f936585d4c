import Testing

@testable import notifyctl

@Suite struct LineSplitterTests {
    private func lines(_ text: String, chunk: Int = .max, maximumBytes: Int = .max) -> [String] {
        var splitter = LineSplitter(maximumBytes: maximumBytes)
        var lines: [[UInt8]] = []
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            lines += splitter.split(Array(rest.prefix(chunk)))
            rest = rest.dropFirst(chunk)
        }
        if let last = splitter.finish() { lines.append(last) }
        return lines.map { String(decoding: $0, as: UTF8.self) }
    }

    @Test(arguments: [
        ("", []), ("\n", [""]), ("a", ["a"]), ("a\n", ["a"]), ("a\nb", ["a", "b"]), ("a\n\nb\n", ["a", "", "b"]),
        ("\r\na\r\n", ["\r", "a\r"]),
    ])
    func `a newline ends a line, and so does the end of input within a line`(text: String, expected: [String]) {
        for chunk in 1...max(1, text.utf8.count) { #expect(lines(text, chunk: chunk) == expected) }
    }

    @Test(arguments: 1...8)
    func `a line over the limit is cut, and the next one is complete`(chunk: Int) {
        #expect(lines("12345678\nab\n1234\n", chunk: chunk, maximumBytes: 4) == ["1234", "ab", "1234"])
    }
}
