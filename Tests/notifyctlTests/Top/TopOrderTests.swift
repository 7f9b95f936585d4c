import Testing

@testable import notifyctl

@Suite struct TopOrderTests {
    private let rows = [
        TopSamples.row("b", id: 20, size: 5), TopSamples.row("a", id: 3, size: 50),
        TopRow(id: "c", cells: [.none, .none, .none, .none]), TopSamples.row("Bb", id: 100, size: 5),
    ]

    private func arranged(_ column: Int, isDescending: Bool = false, filter: String = "") -> [String] {
        var order = TopOrder(TopSamples.view)
        (order.column, order.isDescending, order.filter) = (column, isDescending, filter)
        return order.arranged(rows).map(\.id)
    }

    @Test func `rows are sorted by text or number, and rows without a value are last`() {
        #expect(arranged(0) == ["Bb", "a", "b", "c"])
        #expect(arranged(0, isDescending: true) == ["b", "a", "Bb", "c"])
        #expect(arranged(1) == ["a", "b", "Bb", "c"])
        #expect(arranged(1, isDescending: true) == ["Bb", "b", "a", "c"])
    }

    @Test func `equal rows keep their order in both directions`() {
        #expect(arranged(2) == ["b", "Bb", "a", "c"])
        #expect(arranged(2, isDescending: true) == ["a", "b", "Bb", "c"])
        #expect(arranged(3) == ["b", "a", "c", "Bb"], "rates that are not known yet")
    }

    @Test func `a filter keeps rows with its text in a text cell or an identifier`() {
        #expect(arranged(0, filter: "B") == ["Bb", "b"])
        #expect(arranged(0, filter: "100") == ["Bb"])
        #expect(arranged(0, filter: "5") == [], "a filter does not search sizes")
    }

    @Test func `the initial order of subscriptions is by unacknowledged messages, descending`() {
        let column = TopView.subscriptions.columns.firstIndex { $0.title == "BEHIND" }
        let order = TopOrder(TopView.subscriptions)
        #expect(order.column == column && order.isDescending)
    }

    @Test func `a view has an initial column, and each column an initial direction`() {
        var order = TopOrder(TopSamples.view)
        #expect(order.column == 2 && order.isDescending)
        order.isDescending = false
        order.select(2, of: TopSamples.view)
        #expect(!order.isDescending, "the same column")
        order.select(9, of: TopSamples.view)
        #expect(order.column == 3 && order.isDescending)
        order.select(1, of: TopSamples.view)
        #expect(order.column == 1 && !order.isDescending)
        order.select(-1, of: TopSamples.view)
        #expect(order.column == 0 && !order.isDescending)
    }
}
