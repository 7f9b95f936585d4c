/// The state of `--watch` on a terminal: the latest list, and the part of it that the user has scrolled to.
struct WatchState<Item: Sendable>: LiveState {
    /// The only request, for the list.
    enum Request: Equatable, Sendable { case list }

    /// The kind of the items.
    private let title: String
    private let makeTable: @Sendable (_ look: Look<Item>, _ earlier: Look<Item>?) -> Table
    private var isWide: Bool
    /// The list with which the next one is compared.
    private var latest: Look<Item>?
    private var table: Table?
    private var scroll = RowScroll()
    /// The number of columns that are scrolled out of view. The first column always stays.
    private var skippedColumns = 0
    /// Whether the last frame left out columns.
    private var isCut = false
    private var pace = RequestPace()

    /// - Parameter earlier: The list that the first rates are computed from; nil for a first list without rates.
    init(
        title: String, isWide: Bool, earlier: Look<Item>? = nil,
        table: @escaping @Sendable (_ look: Look<Item>, _ earlier: Look<Item>?) -> Table
    ) {
        self.title = title
        self.isWide = isWide
        latest = earlier
        makeTable = table
    }

    var longestInterval: Duration? { nil }

    mutating func intervalPassed() -> Effect? { pace.intervalPassed() ? .request(.list) : nil }

    mutating func reportReceived(_ report: Look<Item>) -> Effect? {
        pace.answered()
        table = makeTable(report, latest)
        latest = report
        return nil
    }

    /// Shows the failure. The next list has no rates, because the daemon may have restarted.
    mutating func requestFailed(_ message: String) {
        pace.failed(message)
        latest = nil
    }

    mutating func keyPressed(_ key: Key) -> Effect? {
        switch key {
        case .character("q"): return .quit
        case .character("w"): (isWide, skippedColumns) = (!isWide, 0)
        case .right: if isCut { skippedColumns += 1 }
        case .left: skippedColumns = max(0, skippedColumns - 1)
        default: scroll.handle(key, rows: table?.rows.count ?? 0)
        }
        return nil
    }

    mutating func frame(for screen: Screen) -> Frame {
        guard let table else { return Frame(lines: [Frame.Line(status(showing: 0..<0))]) }
        skippedColumns = max(0, min(skippedColumns, table.columns.count - 2))
        let layout = TableLayout(
            table, .fitting(columns: screen.columns, isWide: isWide), skipping: skippedColumns)
        isCut = layout.isCut
        let shown = scroll.range(page: screen.rows - 2, rows: table.rows.count)
        let text = layout.lines(of: table, rows: shown)
        let lines = [Frame.Line(status(showing: shown)), Frame.Line(text[0], isTitle: true)]
        return Frame(lines: Array((lines + text.dropFirst().map { Frame.Line($0) }).prefix(screen.rows)))
    }

    private func status(showing range: Range<Int>) -> String {
        if let failure = pace.failure { return failure }
        let count = table?.rows.count ?? 0
        let place = range.isEmpty ? "\(count)" : "\(range.lowerBound + 1)-\(range.upperBound)"
        return "\(title) \(place) of \(count) (arrows: scroll, w: \(isWide ? "fewer" : "all") columns, q: quit)"
    }
}
