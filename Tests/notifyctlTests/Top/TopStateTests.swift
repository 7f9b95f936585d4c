import Testing

@testable import notifyctl

@Suite struct TopStateTests {
    private static let screen = Screen(rows: 6, columns: 60)

    private func state(_ rows: [TopRow]? = nil) -> TopState {
        var state = TopState(
            views: [TopSamples.view, TopSamples.otherView], view: 0, order: TopOrder(TopSamples.view))
        if let rows { _ = state.reportReceived(TopSamples.report(rows)) }
        return state
    }

    private func type(_ text: String, into state: inout TopState) {
        for character in text { _ = state.keyPressed(.character(character)) }
    }

    private func lines(_ state: inout TopState, rows: Int = 6) -> [String] {
        state.frame(for: Screen(rows: rows, columns: 300)).lines.map(\.text)
    }

    /// The first word of each row of the table.
    private func names(_ state: inout TopState, rows: Int = 6) -> [String] {
        lines(&state, rows: rows).dropFirst(3).map { TopSamples.words($0)[0] }
    }

    private let abc = [
        TopSamples.row("a", id: 3, size: 1), TopSamples.row("b", id: 2, size: 30), TopSamples.row("c", id: 1, size: 2),
    ]

    // MARK: Reports

    @Test func `a frame has figures, status, titles and rows`() {
        var state = state(abc)
        let lines = lines(&state)
        #expect(lines[0].hasPrefix("notifyd 1.2  up -  connections -"))
        #expect(lines[1] == "things 1-3 of 3, by SIZE descending (h: help)")
        let table = ["NAME  ID  SIZE  RATE", "b      2    30     -", "c      1     2     -", "a      3     1     -"]
        #expect(Array(lines[2...]) == table)
        #expect(state.frame(for: Self.screen).lines.first { $0.isTitle }?.underlined == 10..<14)
    }

    @Test func `one request is pending at a time`() {
        var state = state()
        #expect(state.intervalPassed() == .request("things"))
        #expect(state.intervalPassed() == nil)
        #expect(state.reportReceived(TopSamples.report()) == nil)
        #expect(state.intervalPassed() == .request("things"))
        state.requestFailed("lost")
        #expect(state.intervalPassed() == .request("things"))
    }

    @Test func `a daemon that does not answer is reported after three intervals`() {
        var state = state(abc)
        _ = state.intervalPassed()
        for _ in 0..<2 { _ = state.intervalPassed() }
        #expect(lines(&state)[1].hasPrefix("things"))
        _ = state.intervalPassed()
        #expect(lines(&state)[1] == "waiting for the answer of notifyd")
        _ = state.reportReceived(TopSamples.report(abc, after: 4))
        #expect(lines(&state)[1].hasPrefix("things"))
        _ = state.intervalPassed()
        _ = state.intervalPassed()
        #expect(lines(&state)[1].hasPrefix("things"))
    }

    @Test func `rates are shown from the second report on`() {
        var state = state([TopSamples.row("a", total: 10)])
        _ = state.reportReceived(TopSamples.report([TopSamples.row("a", total: 40)], after: 2))
        #expect(lines(&state)[3].hasSuffix(" 15"))
    }

    @Test func `a failure is shown until the next report, which has no rates`() {
        var state = state([TopSamples.row("a", total: 10)])
        state.requestFailed("disconnected\u{1B}[2J")
        #expect(lines(&state)[1] == "disconnected\u{FFFD}[2J")
        #expect(names(&state) == ["a"], "the last rows remain")
        _ = state.reportReceived(TopSamples.report([TopSamples.row("a", total: 40)], after: 2))
        #expect(lines(&state)[1].hasPrefix("things"))
        #expect(lines(&state)[3].hasSuffix(" -"))
    }

    // MARK: Views

    @Test(arguments: [Key.character("o"), .tab, .backTab])
    func `after a switch of the view, the new view is requested at once`(key: Key) {
        var state = state(abc)
        #expect(state.keyPressed(key) == .request("others"))
        #expect(lines(&state)[1...] == ["others 0 of 0, by OTHER ascending (h: help)", "OTHER"])
        let row = TopRow(id: "x", cells: [.text("x")])
        #expect(state.reportReceived(TopSamples.report([row], of: "others", after: 1)) == nil)
        #expect(names(&state) == ["x"])
        #expect(state.keyPressed(.character("o")) == nil)
        #expect(state.keyPressed(key == .character("o") ? .character("t") : key) == .request("things"))
    }

    @Test func `a view that is chosen during a request is requested after that request`() {
        var state = state(abc)
        #expect(state.intervalPassed() == .request("things"))
        #expect(state.keyPressed(.tab) == nil)
        #expect(state.reportReceived(TopSamples.report(abc, after: 1)) == .request("others"))
        #expect(names(&state) == [])
    }

    @Test func `each view keeps its order`() {
        var state = state(abc)
        _ = state.keyPressed(.character("r"))
        _ = state.keyPressed(.tab)
        _ = state.keyPressed(.tab)
        #expect(lines(&state)[1].contains("by SIZE ascending"))
    }

    // MARK: Order and filter

    @Test func `keys change the column and the direction`() {
        var state = state(abc)
        #expect(names(&state) == ["b", "c", "a"])
        type("r", into: &state)
        #expect(names(&state) == ["a", "c", "b"])
        type("<", into: &state)
        #expect(names(&state) == ["c", "b", "a"])
        #expect(lines(&state)[1].contains("by ID ascending"))
        _ = state.keyPressed(.left)
        #expect(names(&state) == ["a", "b", "c"])
        _ = state.keyPressed(.right)
        type(">", into: &state)
        #expect(lines(&state)[1].contains("by SIZE descending"))
    }

    @Test func `a typed filter applies with Enter and ends with Escape`() {
        var state = state(abc)
        type("/qx", into: &state)
        #expect(lines(&state)[1] == "filter: qx_")
        for _ in 0..<3 { _ = state.keyPressed(.backspace) }
        type("yz", into: &state)
        _ = state.keyPressed(.clearLine)
        type("B", into: &state)
        #expect(names(&state).count == 3, "the filter is not applied yet")
        _ = state.keyPressed(.enter)
        #expect(names(&state) == ["b"])
        #expect(lines(&state)[1] == "things 1-1 of 1, with 'B', by SIZE descending (h: help)")
        type("/c", into: &state)
        _ = state.keyPressed(.enter)
        #expect(names(&state) == [], "the filter was continued: Bc")
        _ = state.keyPressed(.escape)
        #expect(names(&state).count == 3)
        type("/b", into: &state)
        _ = state.keyPressed(.escape)
        #expect(names(&state).count == 3)
        #expect(state.keyPressed(.character("q")) == .quit)
    }

    @Test func `the filter applies to later reports`() {
        var state = state(abc)
        type("/b", into: &state)
        _ = state.keyPressed(.enter)
        _ = state.reportReceived(TopSamples.report(abc + [TopSamples.row("bb")], after: 1))
        #expect(names(&state) == ["b", "bb"])
    }

    // MARK: Scrolling and size

    @Test func `rows scroll within their bounds`() {
        var state = state((0..<10).map { TopSamples.row("r\($0)", size: 100 - $0) })
        func first(after keys: Key...) -> String {
            for key in keys { _ = state.keyPressed(key) }
            return names(&state)[0]
        }
        #expect(names(&state) == ["r0", "r1", "r2"])
        #expect(lines(&state)[1].hasPrefix("things 1-3 of 10"))
        #expect(first(after: .down, .down) == "r2")
        #expect(first(after: .up) == "r1")
        #expect(first(after: .pageDown) == "r4")
        #expect(first(after: .pageDown, .pageDown) == "r7")
        #expect(lines(&state)[1].hasPrefix("things 8-10 of 10"))
        #expect(first(after: .pageUp) == "r4")
        #expect(first(after: .up, .up, .up, .up, .up, .up) == "r0")
        #expect(first(after: .end) == "r7")
        #expect(names(&state, rows: 9) == ["r4", "r5", "r6", "r7", "r8", "r9"], "a taller window")
        #expect(first(after: .home) == "r0")
    }

    @Test func `the table scrolls back if it has fewer rows than before`() {
        var state = state((0..<10).map { TopSamples.row("r\($0)", size: 100 - $0) })
        #expect(names(&state).count == 3)
        _ = state.keyPressed(.end)
        _ = state.reportReceived(TopSamples.report(abc, after: 1))
        #expect(names(&state) == ["b", "c", "a"])
    }

    @Test(arguments: 1...12, [1, 20, 80])
    func `a frame fits every size`(rows: Int, columns: Int) {
        var state = state(abc)
        for isHelpShown in [false, true] {
            if isHelpShown { _ = state.keyPressed(.character("h")) }
            let frame = state.frame(for: Screen(rows: rows, columns: columns))
            #expect(frame.lines.count <= rows)
            #expect(
                rows < 3 || frame.lines.contains { $0.text == "b" || $0.text.hasPrefix("b ") },
                "the first row is visible")
        }
    }

    @Test func `the help line lists the keys and views`() {
        var state = state(abc)
        let keys = "t: things  o: others  Tab: next view"
        #expect(!lines(&state, rows: 9).contains { $0.hasPrefix(keys) })
        for (key, isShown) in [("h", true), ("?", false)] {
            type(key, into: &state)
            #expect(lines(&state, rows: 9).contains { $0.hasPrefix(keys) } == isShown)
        }
    }

    @Test func `columns do not shrink while a view is shown`() {
        var state = state([TopSamples.row("a-long-name")])
        #expect(lines(&state)[2].hasPrefix("NAME         "))
        _ = state.reportReceived(TopSamples.report(abc, after: 1))
        #expect(lines(&state)[2].hasPrefix("NAME         "))
    }
}
