extension String {
    /// The text with these characters escaped: control characters, line separators, and characters that change the
    /// direction of text. So it can neither add a line nor change other text on a terminal.
    var singleLine: String {
        var line = ""
        for scalar in unicodeScalars {
            switch scalar.value {
            case 0x0A: line += "\\n"
            case ..<0x20, 0x7F...0x9F, 0x061C, 0x200E...0x200F, 0x2028...0x202E, 0x2066...0x2069:
                line += "\\u{\(String(scalar.value, radix: 16))}"
            default: line.unicodeScalars.append(scalar)
            }
        }
        return line
    }

    /// The text as a ``singleLine``, for an error message. An ellipsis replaces everything after the first 100 Unicode
    /// scalars.
    var excerpt: String {
        let limit = 100
        return unicodeScalars.count <= limit ? singleLine : String(unicodeScalars.prefix(limit)).singleLine + "…"
    }
}
