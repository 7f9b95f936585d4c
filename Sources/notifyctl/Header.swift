import ArgumentParser

/// A header as an argument: a key, a colon and a value. White space around either is dropped.
struct Header: ExpressibleByArgument, Equatable {
    var key: String
    var value: String

    init?(argument: String) {
        guard let colon = argument.utf8.firstIndex(of: UInt8(ascii: ":")) else { return nil }
        key = Self.trimmed(argument[..<colon])
        value = Self.trimmed(argument[argument.utf8.index(after: colon)...])
        guard !key.isEmpty else { return nil }
    }

    private static func trimmed(_ text: Substring) -> String {
        let start = text.drop(while: \.isWhitespace)
        guard let last = start.lastIndex(where: { !$0.isWhitespace }) else { return "" }
        return String(start[...last])
    }
}
