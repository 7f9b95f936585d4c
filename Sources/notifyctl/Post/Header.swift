import ArgumentParser
import NotifyClient

/// A header as an argument: a key, a colon and a value. White space around key and value is removed.
struct Header: Equatable {
    var key: String
    var value: String

    /// - Throws: `ValidationError` that shows the form of a header.
    init(argument: String) throws {
        let colon = argument.utf8.firstIndex(of: UInt8(ascii: ":")) ?? argument.startIndex
        key = Self.trimmed(argument[..<colon])
        guard !key.isEmpty else {
            throw ValidationError("expected a header of the form 'KEY: VALUE'")
        }
        value = Self.trimmed(argument[argument.utf8.index(after: colon)...])
    }

    private static func trimmed(_ text: Substring) -> String {
        let start = text.drop(while: \.isWhitespace)
        guard let last = start.lastIndex(where: { !$0.isWhitespace }) else { return "" }
        return String(start[...last])
    }
}

extension NotificationClient.Headers {
    init(_ arguments: [Header]) { self.init(arguments.map { ($0.key, $0.value) }) }
}
