/// The state of `top` on a terminal: the latest report, and the view, order and filter that the user has chosen.
/// Handles keys and reports, and makes frames.
struct TopState: Sendable {
    /// What the caller has to do after an event.
    enum Effect: Equatable, Sendable {
        /// Request a report of this view, by its name.
        case request(String)
        case quit
    }

    /// The number of intervals without an answer after which the status line reports it.
    private static let toleratedIntervals = 3

    private let views: [TopView]
    private var viewIndex: Int
    /// The order of each view.
    private var orders: [TopOrder]
    /// The text that the user is typing as the filter; nil while the user types no filter.
    private var typedFilter: String?
    private var isHelpShown = false
    private var firstRow = 0
    /// The number of rows of the table in the last frame.
    private var pageRows = 1
    /// The columns' widths in the last frame. They do not shrink, so that the table does not move with each report.
    private var widths: [Int] = []

    /// The report with which the next one is compared.
    private var latest: TopReport?
    private var figures: [String] = []
    private var rows: [TopRow] = []
    private var arrangedRows: [TopRow] = []
    /// The reason why no reports arrive, for the status line; nil if they do.
    private var failure: String?
    private var isRequestPending = false
    /// The number of intervals that have passed since the pending request.
    private var missedIntervals = 0

    /// - Parameter order: The order of the first view.
    init(views: [TopView] = TopView.all, view index: Int, order: TopOrder) {
        self.views = views
        viewIndex = index
        orders = views.map { TopOrder($0) }
        orders[index] = order
    }

    /// The view that is shown.
    var view: TopView { views[viewIndex] }

    private var order: TopOrder {
        get { orders[viewIndex] }
        set {
            orders[viewIndex] = newValue
            arrangedRows = newValue.arranged(rows)
        }
    }

    // MARK: Reports

    /// Must be called after each interval. Requests a report, unless a request is pending.
    mutating func intervalPassed() -> Effect? {
        if isRequestPending {
            missedIntervals += 1
            if missedIntervals >= Self.toleratedIntervals { failure = "waiting for the answer of notifyd" }
            return nil
        }
        return request()
    }

    private mutating func request() -> Effect? {
        guard !isRequestPending else { return nil }
        (isRequestPending, missedIntervals) = (true, 0)
        return .request(view.name)
    }

    mutating func reportReceived(_ report: TopReport) -> Effect? {
        isRequestPending = false
        failure = nil
        figures = report.figures(since: latest)
        // If the user has switched the view meanwhile, the new one must be requested.
        guard report.viewName == view.name else {
            latest = report
            return request()
        }
        rows = report.rows(since: latest)
        arrangedRows = order.arranged(rows)
        latest = report
        return nil
    }

    /// Must be called when the daemon can't be reached. The next report has no rates, because it may be that of a
    /// restarted daemon.
    mutating func requestFailed(_ message: String) {
        isRequestPending = false
        failure = message
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
        case .character("<"), .left: order.select(order.column - 1, of: view)
        case .character(">"), .right: order.select(order.column + 1, of: view)
        case .escape: order.filter = ""
        case .tab: return show((viewIndex + 1) % views.count)
        case .backTab: return show((viewIndex + views.count - 1) % views.count)
        case .character(let character):
            if let index = views.firstIndex(where: { $0.key == character }) { return show(index) }
        default: scroll(key)
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
            (typedFilter, firstRow) = (nil, 0)
        case .escape:
            order.filter = ""
            (typedFilter, firstRow) = (nil, 0)
        default: break
        }
    }

    private mutating func scroll(_ key: Key) {
        switch key {
        case .up: firstRow -= 1
        case .down: firstRow += 1
        case .pageUp: firstRow -= pageRows
        case .pageDown: firstRow += pageRows
        case .home: firstRow = 0
        case .end: firstRow = arrangedRows.count
        default: break
        }
        clampScroll()
    }

    private mutating func clampScroll() {
        firstRow = max(0, min(firstRow, arrangedRows.count - pageRows))
    }

    private mutating func show(_ index: Int) -> Effect? {
        guard index != viewIndex else { return nil }
        viewIndex = index
        (rows, arrangedRows, widths, firstRow) = ([], [], [], 0)
        return request()
    }

    // MARK: Frames

    /// The content of a screen of this size.
    mutating func frame(for screen: Screen) -> Frame {
        var lines = Frame.wrapped(figures, columns: screen.columns)
        if isHelpShown { lines += Frame.wrapped(help, columns: screen.columns) }
        // Leaves space for the status line, the titles and a row.
        lines.removeLast(min(lines.count, max(0, lines.count + 3 - screen.rows)))
        pageRows = max(1, screen.rows - lines.count - 2)
        clampScroll()
        let shown = arrangedRows[firstRow...].prefix(pageRows)
        var table = Table(view.tableColumns, minimumWidths: widths)
        for row in shown { table.append(row.cells.map(\.text)) }
        widths = table.widths
        let text = table.lines
        lines.append(Frame.Line(status(showing: shown.indices)))
        lines.append(Frame.Line(text[0], isTitle: true, underlined: table.range(of: order.column)))
        lines += text.dropFirst().map { Frame.Line($0) }
        return Frame(lines: Array(lines.prefix(screen.rows)))
    }

    private func status(showing range: Range<Int>) -> String {
        if let typedFilter { return "filter: \(typedFilter)_" }
        if let failure { return failure }
        let place = range.isEmpty ? "\(arrangedRows.count)" : "\(range.lowerBound + 1)-\(range.upperBound)"
        let direction = order.isDescending ? "descending" : "ascending"
        let filter = order.filter.isEmpty ? "" : ", with '\(order.filter)'"
        return "\(view.name) \(place) of \(arrangedRows.count)\(filter), by \(view.columns[order.column].title) "
            + "\(direction) (h: help)"
    }

    private var help: [String] {
        views.map { "\($0.key): \($0.name)" } + [
            "Tab: next view", "< >: sort column", "r: reverse", "/: filter", "Esc: no filter",
            "arrows PgUp PgDn: scroll", "h: help", "q: quit",
        ]
    }
}
