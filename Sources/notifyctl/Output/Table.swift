/// Plain text in aligned columns. Numbers are aligned to the right.
struct Table {
    struct Column {
        let title: String
        var isNumeric = false
        /// Whether text is not shortened, because a time without its middle is useless. Such a column is shortened only
        /// if it is the only one left.
        var isFixed = false
        /// Whether the column is left out on a terminal unless `--wide` is given.
        var isWide = false

        static func text(_ title: String) -> Column { Column(title: title) }
        static func time(_ title: String) -> Column { Column(title: title, isFixed: true) }
        static func number(_ title: String) -> Column { Column(title: title, isNumeric: true) }

        /// The same column, left out on a terminal unless `--wide` is given.
        var wide: Column { wide(if: true) }

        func wide(if isWide: Bool) -> Column {
            var column = self
            column.isWide = isWide
            return column
        }
    }

    /// The cell of a value that does not exist.
    static let none = "-"
    /// The cell of an unknown value.
    static let unknown = "?"

    let columns: [Column]
    private(set) var rows: [[String]] = []
    /// The width of each column, in columns of a terminal.
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
        for (index, cell) in row.enumerated() { widths[index] = max(widths[index], cell.columns) }
        rows.append(row)
    }

    /// The titles and the rows as lines.
    func lines(in style: TableStyle = .full) -> [String] { TableLayout(self, style).lines(of: self) }

    /// The text with replacements for control characters, and for characters that change the direction of text.
    static func printable(_ text: String) -> String { printable(text, keeping: []) }

    /// The text with the replacements of ``printable(_:)``, except for the characters in `kept`.
    static func printable(_ text: String, keeping kept: Set<Unicode.Scalar>) -> String {
        if text.utf8.allSatisfy({ 0x20..<0x7F ~= $0 }) { return text }
        guard text.unicodeScalars.contains(where: \.changesTerminal) else { return text }
        var result = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            result.append(scalar.changesTerminal && !kept.contains(scalar) ? "\u{FFFD}" : scalar)
        }
        return String(result)
    }
}
