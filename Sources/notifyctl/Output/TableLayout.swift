/// The columns of a table that are shown, with their widths.
struct TableLayout {
    private static let separator = "  "
    /// The mark after the titles if columns are missing.
    private static let more = "…"
    private static let mark = separator.count + more.count
    /// The minimum width of shortened text. If a table still does not fit, a column is left out.
    private static let shortestText = 8

    private struct Shown {
        let index: Int
        var width: Int
    }

    private var shown: [Shown]
    /// Whether columns are missing because they do not fit.
    private(set) var isCut = false
    private var hasMark = false

    /// - Parameters:
    ///   - kept: A column that is shown even if the style leaves it out by default. If the width is too small, it is
    ///     left out after all others but the first.
    ///   - skipped: The number of columns to leave out after the first one, for a table that is scrolled sideways.
    init(_ table: Table, _ style: TableStyle, keeping kept: Int? = nil, skipping skipped: Int = 0) {
        guard case .fitting(let limit, let isWide) = style else {
            shown = table.widths.enumerated().map { Shown(index: $0.offset, width: $0.element) }
            return
        }
        shown = table.columns.indices.filter { isWide || !table.columns[$0].isWide || $0 == kept }
            .map { Shown(index: $0, width: table.widths[$0]) }
        shown.removeSubrange(shown.indices.dropFirst().dropLast().prefix(skipped))
        let mark = limit > Self.mark ? Self.mark : 0
        while shown.count > 1, Self.minimum(shown, of: table) + (isCut ? mark : 0) > limit {
            let last = shown.indices.dropFirst().last { shown[$0].index != kept }
            shown.remove(at: last ?? shown.count - 1)
            isCut = true
        }
        shorten(to: limit - (isCut ? mark : 0), table)
        hasMark = isCut && mark > 0
    }

    /// The least width of the columns, with their text shortened.
    private static func minimum(_ shown: [Shown], of table: Table) -> Int {
        width(shown.map { min($0.width, shortestWidth(of: $0.index, table)) })
    }

    private static func shortestWidth(of column: Int, _ table: Table) -> Int {
        let (width, column) = (table.widths[column], table.columns[column])
        return column.isNumeric || column.isFixed ? width : max(shortestText, column.title.count)
    }

    private static func width(_ widths: [Int]) -> Int {
        widths.reduce(0, +) + separator.count * max(0, widths.count - 1)
    }

    /// Narrows the widest columns of text until the table fits.
    private mutating func shorten(to limit: Int, _ table: Table) {
        var excess = Self.width(shown.map(\.width)) - limit
        while excess > 0 {
            let long = shown.indices.filter { shown[$0].width > Self.shortestWidth(of: shown[$0].index, table) }
            guard let widest = long.max(by: { shown[$0].width < shown[$1].width }) else { break }
            shown[widest].width -= 1
            excess -= 1
        }
        // The only column does not fit.
        if excess > 0, shown.count == 1 { shown[0].width = max(1, shown[0].width - excess) }
    }

    /// The columns of the terminal that a column of the table takes; empty for one that is not shown.
    func range(of column: Int) -> Range<Int> {
        guard let position = shown.firstIndex(where: { $0.index == column }) else { return 0..<0 }
        let start = shown[..<position].reduce(0) { $0 + $1.width + Self.separator.count }
        return start..<start + shown[position].width
    }

    /// The titles and the given rows of the table as lines; by default all rows. Text in the last column is not padded.
    func lines(of table: Table, rows: Range<Int>? = nil) -> [String] {
        let titles = line(table.columns.map(\.title), of: table, end: hasMark ? Self.more : nil)
        return [titles] + table.rows[rows ?? table.rows.indices].map { line($0, of: table) }
    }

    private func line(_ row: [String], of table: Table, end: String? = nil) -> String {
        var cells = shown.enumerated().map { position, column in
            let text = row[column.index].shortened(toColumns: column.width)
            let space = String(repeating: " ", count: column.width - text.columns)
            if table.columns[column.index].isNumeric { return space + text }
            return position == shown.count - 1 && end == nil ? text : text + space
        }
        if let end { cells.append(end) }
        return cells.joined(separator: Self.separator)
    }
}
