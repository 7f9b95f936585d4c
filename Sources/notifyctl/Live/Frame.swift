/// The content of a terminal, as lines of text.
struct Frame: Equatable, Sendable {
    struct Line: Equatable, Sendable {
        let text: String
        /// Whether the line is shown in reverse video over the whole width.
        var isTitle = false
        /// The characters of a title to underline.
        var underlined = 0..<0

        /// Makes a line. Control characters, which could change the terminal, are replaced.
        init(_ text: String, isTitle: Bool = false, underlined: Range<Int> = 0..<0) {
            self.text = Table.printable(text)
            self.isTitle = isTitle
            self.underlined = underlined
        }
    }

    var lines: [Line]

    /// The output that replaces the content of a terminal. Lines and rows that do not fit are cut.
    func output(on screen: Screen) -> String {
        let shown = lines.prefix(screen.rows)
        let rows = shown.enumerated().map { index, line in
            // Moves to the row and erases it first: erasing a full row after writing would remove its last column.
            "\u{1B}[\(index + 1);1H\u{1B}[K\(Self.styled(line, columns: screen.columns))"
        }
        let erasing = shown.count < screen.rows ? "\u{1B}[\(shown.count + 1);1H\u{1B}[J" : ""
        return rows.joined() + erasing
    }

    private static func styled(_ line: Line, columns: Int) -> String {
        let text = line.text.prefix(columns: columns)
        guard line.isTitle else { return String(text) }
        let padded = Array(text) + Array(repeating: " ", count: columns - text.columns)
        let marked = line.underlined.clamped(to: 0..<columns)
        return "\u{1B}[7m\(String(padded[..<marked.lowerBound]))\u{1B}[4m\(String(padded[marked]))\u{1B}[24m"
            + "\(String(padded[marked.upperBound...]))\u{1B}[m"
    }

    /// Joins parts to lines that are at most `columns` wide; a wider part has a line of its own.
    static func wrapped(_ parts: [String], columns: Int) -> [Line] {
        var lines: [String] = []
        for part in parts {
            if let last = lines.last, last.columns + 2 + part.columns <= columns {
                lines[lines.count - 1] = "\(last)  \(part)"
            } else {
                lines.append(part)
            }
        }
        return lines.map { Line($0) }
    }
}
