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

    let columns: [Column]
    private(set) var rows: [[String]] = []

    init(_ columns: [Column]) {
        self.columns = columns
    }

    /// Adds a row with a cell for each column. Control characters, which could change the terminal, are replaced.
    mutating func append(_ cells: [String]) {
        precondition(cells.count == columns.count, "a row has a cell for each column")
        rows.append(cells.map(Self.printable))
    }

    /// The titles and the rows as lines. Text in the last column is not padded.
    var lines: [String] {
        let all = [columns.map(\.title)] + rows
        let widths = columns.indices.map { column in all.map { $0[column].count }.max() ?? 0 }
        return all.map { row in
            let cells = row.indices.map { index in
                let space = String(repeating: " ", count: widths[index] - row[index].count)
                if columns[index].isNumeric { return space + row[index] }
                return index == row.count - 1 ? row[index] : row[index] + space
            }
            return cells.joined(separator: "  ")
        }
    }

    private static func printable(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) else { return text }
        var result = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            result.append(scalar.properties.generalCategory == .control ? "\u{FFFD}" : scalar)
        }
        return String(result)
    }
}
