/// The filter and the order of a view's rows.
struct TopOrder: Equatable, Sendable {
    /// The index of the column to sort by.
    var column: Int
    var isDescending: Bool
    /// Only rows that contain this text are shown. Case does not matter.
    var filter = ""

    init(_ view: TopView) {
        column = view.sortColumn
        isDescending = view.columns[view.sortColumn].isDescending
    }

    mutating func select(_ index: Int, of view: TopView) {
        let index = min(max(index, 0), view.columns.count - 1)
        guard index != column else { return }
        column = index
        isDescending = view.columns[index].isDescending
    }

    /// The rows in this order. Rows without a value are last; equal rows keep their order.
    func arranged(_ rows: [TopRow]) -> [TopRow] {
        let text = filter.lowercased()
        let shown = rows.filter { row in
            text.isEmpty || row.cells.contains { $0.filterText?.lowercased().contains(text) == true }
        }
        return shown.enumerated().sorted { left, right in
            precedes(left.element.cells[column], right.element.cells[column]) ?? (left.offset < right.offset)
        }.map(\.element)
    }

    private func precedes(_ left: TopCell, _ right: TopCell) -> Bool? {
        let isMissing = (left.isMissing, right.isMissing)
        guard isMissing == (false, false) else { return isMissing.0 == isMissing.1 ? nil : isMissing.1 }
        if left.isLess(than: right) { return !isDescending }
        if right.isLess(than: left) { return isDescending }
        return nil
    }
}
