/// Plain text in aligned columns. Numbers are aligned to the right.
struct Table {
    struct Column {
        let title: String
        var isNumeric = false

        static func text(_ title: String) -> Column { Column(title: title) }
        static func number(_ title: String) -> Column { Column(title: title, isNumeric: true) }
    }

    /// The cell of a value that does not exist.
    static let none = "-"
    /// The cell of a value that is not known.
    static let unknown = "?"

    private static let separator = "  "

    let columns: [Column]
    private(set) var rows: [[String]] = []
    /// The width of each column, in characters.
    private(set) var widths: [Int]

    /// - Parameter minimumWidths: The minimum width of each column; empty for none.
    init(_ columns: [Column], minimumWidths: [Int] = []) {
        self.columns = columns
        widths = columns.map(\.title.count)
        for (index, width) in minimumWidths.enumerated() { widths[index] = max(widths[index], width) }
    }

    /// Adds a row with a cell for each column. Control characters, which could change the terminal, are replaced.
    mutating func append(_ cells: [String]) {
        precondition(cells.count == columns.count, "a row has a cell for each column")
        let row = cells.map(Self.printable)
        for (index, cell) in row.enumerated() { widths[index] = max(widths[index], Self.width(of: cell)) }
        rows.append(row)
    }

    /// The characters of each line that a column takes.
    func range(of column: Int) -> Range<Int> {
        let start = widths[..<column].reduce(0, +) + column * Self.separator.count
        return start..<start + widths[column]
    }

    /// The titles and the rows as lines. Text in the last column is not padded.
    var lines: [String] {
        ([columns.map(\.title)] + rows).map { row in
            let cells = row.indices.map { index in
                let space = String(repeating: " ", count: widths[index] - Self.width(of: row[index]))
                if columns[index].isNumeric { return space + row[index] }
                return index == row.count - 1 ? row[index] : row[index] + space
            }
            return cells.joined(separator: Self.separator)
        }
    }

    /// The characters of printable text. Counting those of ASCII as bytes makes a long table several times faster.
    private static func width(of text: String) -> Int {
        text.utf8.allSatisfy { $0 < 0x80 } ? text.utf8.count : text.count
    }

    /// The text with control characters replaced.
    static func printable(_ text: String) -> String { printable(text, keeping: []) }

    /// The text with control characters replaced, except those in `kept`.
    static func printable(_ text: String, keeping kept: Set<Unicode.Scalar>) -> String {
        if text.utf8.allSatisfy({ 0x20..<0x7F ~= $0 }) { return text }
        guard text.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) else { return text }
        var result = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            let isReplaced = scalar.properties.generalCategory == .control && !kept.contains(scalar)
            result.append(isReplaced ? "\u{FFFD}" : scalar)
        }
        return String(result)
    }
}
