import Synchronization

/// The last bytes that a command has written to standard error.
final class OutputTail: Sendable {
    static let maximumBytes = 1_024

    private let bytes = Mutex<[UInt8]>([])

    func append(_ more: some Collection<UInt8>) {
        bytes.withLock { bytes in
            bytes.append(contentsOf: more.suffix(Self.maximumBytes))
            if bytes.count > Self.maximumBytes { bytes.removeFirst(bytes.count - Self.maximumBytes) }
        }
    }

    /// The bytes as text: without a character that is cut off at the beginning, nor white space at the ends, and with
    /// U+FFFD in place of invalid UTF-8 and of control characters other than line feeds. A tab is a space.
    var text: String { Self.text(bytes.withLock { $0 }) }

    static func text(_ bytes: [UInt8]) -> String {
        let isCut = bytes.count == maximumBytes
        let whole = isCut ? bytes.drop { UTF8.isContinuation($0) } : bytes[...]
        var scalars = String.UnicodeScalarView()
        for scalar in String(decoding: whole, as: UTF8.self).unicodeScalars {
            switch scalar {
            case "\n": scalars.append(scalar)
            // Before a line feed; alone it moves the cursor back.
            case "\r": continue
            case "\t": scalars.append(" ")
            default: scalars.append(scalar.properties.generalCategory == .control ? "\u{FFFD}" : scalar)
            }
        }
        let isSpace = { (scalar: Unicode.Scalar) in scalar.properties.isWhitespace }
        let trimmed = scalars.drop(while: isSpace).reversed().drop(while: isSpace).reversed()
        var text = String.UnicodeScalarView()
        text.append(contentsOf: trimmed)
        return String(text)
    }
}
