import Testing

@testable import notifyctl

@Suite struct WatchStateTests {
    private static let start = ContinuousClock.now

    private static func table(_ look: Look<Int>, _ earlier: Look<Int>?) -> Table {
        var table = Table([.text("NAME"), .number("COUNT"), .number("RATE"), .text("PATTERNS"), .text("OBJECT").wide])
        for item in look.items { table.append(["n\(item)", "1000000", earlier == nil ? "-" : "2", "a.>", "o"]) }
        return table
    }

    private func state(_ items: [Int]? = Array(0..<10)) -> WatchState<Int> {
        var state = WatchState<Int>(title: "things", isWide: false, table: Self.table)
        if let items { _ = state.reportReceived(Look(items: items, time: Self.start)) }
        return state
    }

    private func lines(_ state: inout WatchState<Int>, columns: Int = 80, rows: Int = 5) -> [String] {
        state.frame(for: Screen(rows: rows, columns: columns)).lines.map(\.text)
    }

    @Test func `rows scroll under the titles`() {
        var state = state()
        #expect(
            lines(&state) == [
                "things 1-3 of 10 (arrows: scroll, w: all columns, q: quit)", "NAME    COUNT  RATE  PATTERNS",
                "n0    1000000     -  a.>", "n1    1000000     -  a.>", "n2    1000000     -  a.>",
            ])
        for (key, first) in [(Key.down, "n1"), (.pageDown, "n4"), (.end, "n7"), (.up, "n6"), (.home, "n0")] {
            _ = state.keyPressed(key)
            let lines = lines(&state)
            #expect(lines[1].hasPrefix("NAME") && lines[2].hasPrefix(first + " "), "\(key)")
        }
        _ = state.keyPressed(.end)
        _ = state.reportReceived(Look(items: [1, 2], time: Self.start))
        #expect(lines(&state)[0].hasPrefix("things 1-2 of 2"))
        _ = state.reportReceived(Look(items: [], time: Self.start))
        #expect(lines(&state).count == 2 && lines(&state)[0].hasPrefix("things 0 of 0"))
    }

    @Test func `columns that do not fit scroll sideways, and all are shown on request`() {
        var state = state()
        #expect(lines(&state, columns: 16)[1] == "NAME    COUNT  …")
        _ = state.keyPressed(.right)
        #expect(lines(&state, columns: 16)[1] == "NAME  RATE  …")
        for _ in 0..<5 {
            _ = state.keyPressed(.right)
            _ = lines(&state, columns: 16)
        }
        #expect(lines(&state, columns: 16)[1] == "NAME  PATTERNS", "the last column is shown")
        for _ in 0..<5 { _ = state.keyPressed(.left) }
        #expect(lines(&state, columns: 16)[1] == "NAME    COUNT  …")
        _ = state.keyPressed(.character("w"))
        #expect(lines(&state)[1].hasSuffix("PATTERNS  OBJECT"))
        #expect(state.keyPressed(.character("q")) == .quit)
    }

    @Test func `rates are shown from the second list on, and not after a lost connection`() {
        var state = state([1])
        #expect(lines(&state)[2].contains("    -  "))
        #expect(state.intervalPassed() == .request(.list))
        #expect(state.intervalPassed() == nil)
        _ = state.reportReceived(Look(items: [1], time: Self.start + .seconds(1)))
        #expect(lines(&state)[2].contains("    2  "))
        state.requestFailed("disconnected")
        #expect(lines(&state)[0] == "disconnected")
        #expect(lines(&state)[2].contains("    2  "), "the last list remains")
        _ = state.reportReceived(Look(items: [1], time: Self.start + .seconds(2)))
        #expect(lines(&state)[2].contains("    -  "))
    }

    @Test(arguments: 1...6, [1, 12, 80])
    func `a frame fits every size`(rows: Int, columns: Int) {
        for items in [[], [1], Array(0..<10)] {
            var state = state(items)
            #expect(lines(&state, columns: columns, rows: rows).count <= rows)
        }
    }
}
