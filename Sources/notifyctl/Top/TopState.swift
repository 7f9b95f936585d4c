/// The state of `top` on a terminal: the latest report, and the view, order and filter that the user has chosen.
/// Handles keys and reports, and makes frames.
struct TopState: LiveState {
    /// The name of a view.
    typealias Request = String

    private let views: [TopView]
    private var viewIndex: Int
    /// The order of each view.
    private var orders: [TopOrder]
    /// The text that the user is typing as the filter; nil while the user types no filter.
    private var typedFilter: String?
    private var isHelpShown = false
    /// Whether all columns are shown, as far as they fit.
    private var isWide: Bool
    private var scroll = RowScroll()
    /// The columns' widths in the last frame. They do not shrink, so that the table does not move with each report.
    private var widths: [Int] = []

    /// The report with which the next one is compared.
    private var latest: TopReport?
    private var figures: [String] = []
    private var rows: [TopRow] = []
    private var arrangedRows: [TopRow] = []
    private var pace = RequestPace()

    /// - Parameter order: The order of the first view.
    init(views: [TopView] = TopView.all, view index: Int, order: TopOrder, isWide: Bool = false) {
        self.views = views
        self.isWide = isWide
        viewIndex = index
        orders = views.map { TopOrder($0) }
        orders[index] = order
    }

    /// The view that is shown.
    var view: TopView { views[viewIndex] }

    var longestInterval: Duration? { view.longestInterval }

    private var order: TopOrder {
        get { orders[viewIndex] }
        set {
            orders[viewIndex] = newValue
            arrangedRows = newValue.arranged(rows)
        }
    }

    // MARK: Reports

    mutating func intervalPassed() -> Effect? { pace.intervalPassed() ? .request(view.name) : nil }

    private mutating func request() -> Effect? { pace.begin() ? .request(view.name) : nil }

    mutating func reportReceived(_ report: TopReport) -> Effect? {
        pace.answered()
        figures = report.figures(since: latest)
        // The user may have switched the view since the request. The rows of the new view are requested then.
        guard report.viewName == view.name else {
            latest = report
            return request()
        }
        rows = report.rows(since: latest)
        arrangedRows = order.arranged(rows)
        latest = report
        return nil
    }

    /// Shows the failure. The next report has no rates, because the daemon may have restarted.
    mutating func requestFailed(_ message: String) {
        pace.failed(message)
        latest = nil
    }

    // MARK: Keys

    mutating func keyPressed(_ key: Key) -> Effect? {
        if typedFilter != nil {
            edit(key)
            return nil
        }
        switch key {
        case .character("q"): return .quit
        case .character("h"), .character("?"): isHelpShown.toggle()
        case .character("/"): typedFilter = order.filter
        case .character("r"): order.isDescending.toggle()
        case .character("w"): isWide.toggle()
        case .character("<"), .left: order.select(order.column - 1, of: view)
        case .character(">"), .right: order.select(order.column + 1, of: view)
        case .escape: order.filter = ""
        case .tab: return show((viewIndex + 1) % views.count)
        case .backTab: return show((viewIndex + views.count - 1) % views.count)
        case .character(let character):
            if let index = views.firstIndex(where: { $0.key == character }) { return show(index) }
        default: scroll.handle(key, rows: arrangedRows.count)
        }
        return nil
    }

    private mutating func edit(_ key: Key) {
        switch key {
        case .character(let character): typedFilter?.append(character)
        case .backspace: _ = typedFilter?.popLast()
        case .clearLine: typedFilter = ""
        case .enter:
            order.filter = typedFilter ?? ""
            typedFilter = nil
            scroll.reset()
        case .escape:
            order.filter = ""
            typedFilter = nil
            scroll.reset()
        default: break
        }
    }

    private mutating func show(_ index: Int) -> Effect? {
        guard index != viewIndex else { return nil }
        viewIndex = index
        (rows, arrangedRows, widths) = ([], [], [])
        scroll.reset()
        return request()
    }

    // MARK: Frames

    mutating func frame(for screen: Screen) -> Frame {
        var lines = Frame.wrapped(figures, columns: screen.columns)
        if isHelpShown { lines += Frame.wrapped(help, columns: screen.columns) }
        // Leaves space for the status line, the titles and a row.
        lines.removeLast(min(lines.count, max(0, lines.count + 3 - screen.rows)))
        let shown = arrangedRows[scroll.range(page: screen.rows - lines.count - 2, rows: arrangedRows.count)]
        var table = Table(view.tableColumns, minimumWidths: widths)
        for row in shown { table.append(row.cells.map(\.text)) }
        widths = table.widths
        let layout = TableLayout(
            table, .fitting(columns: screen.columns, isWide: isWide), keeping: order.column)
        let text = layout.lines(of: table)
        lines.append(Frame.Line(status(showing: shown.indices)))
        lines.append(Frame.Line(text[0], isTitle: true, underlined: layout.range(of: order.column)))
        lines += text.dropFirst().map { Frame.Line($0) }
        return Frame(lines: Array(lines.prefix(screen.rows)))
    }

    private func status(showing range: Range<Int>) -> String {
        if let typedFilter { return "filter: \(typedFilter)_" }
        if let failure = pace.failure { return failure }
        let place = range.isEmpty ? "\(arrangedRows.count)" : "\(range.lowerBound + 1)-\(range.upperBound)"
        let direction = order.isDescending ? "descending" : "ascending"
        let filter = order.filter.isEmpty ? "" : ", with '\(order.filter)'"
        return "\(view.name) \(place) of \(arrangedRows.count)\(filter), by \(view.columns[order.column].title) "
            + "\(direction) (h: help)"
    }

    private var help: [String] {
        views.map { "\($0.key): \($0.name)" } + [
            "Tab: next view", "< >: sort column", "r: reverse", "w: all columns", "/: filter", "Esc: no filter",
            "arrows PgUp PgDn: scroll", "h: help", "q: quit",
        ]
    }
}
