import Synchronization

/// The last bytes of a command's output.
final class OutputTail: Sendable {
    static let maximumBytes = 1_024

    private let bytes = Mutex<[UInt8]>([])

    func append(_ more: some Collection<UInt8>) {
        bytes.withLock { bytes in
            bytes.append(contentsOf: more.suffix(Self.maximumBytes))
            if bytes.count > Self.maximumBytes { bytes.removeFirst(bytes.count - Self.maximumBytes) }
        }
    }

    /// The bytes as text, without a partial character at the beginning, and without white space at both ends. U+FFFD
    /// replaces invalid UTF-8, and control characters other than line feeds. A space replaces a tab. Carriage returns
    /// before a line feed are removed; elsewhere, one or several in succession end a line.
    var text: String { Self.text(bytes.withLock { $0 }) }

    static func text(_ bytes: [UInt8]) -> String {
        let isCut = bytes.count == maximumBytes
        let whole = isCut ? bytes.drop { UTF8.isContinuation($0) } : bytes[...]
        var scalars = String.UnicodeScalarView()
        // Elsewhere than before a line feed, carriage returns divide the updates of a progress display.
        var isReturned = false
        for scalar in String(decoding: whole, as: UTF8.self).unicodeScalars {
            if isReturned, scalar != "\r", scalar != "\n" { scalars.append("\n") }
            isReturned = scalar == "\r"
            switch scalar {
            case "\n": scalars.append(scalar)
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
