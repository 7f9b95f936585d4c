/// The part of the rows of a table that a screen shows.
struct RowScroll: Sendable {
    private var first = 0
    /// The number of rows that the screen has room for.
    private var page = 1

    mutating func reset() { first = 0 }

    /// Handles a key. Only keys that scroll have an effect.
    mutating func handle(_ key: Key, rows: Int) {
        switch key {
        case .up: first -= 1
        case .down: first += 1
        case .pageUp: first -= page
        case .pageDown: first += page
        case .home: first = 0
        case .end: first = rows
        default: break
        }
        clamp(rows)
    }

    /// The rows to show on a screen that has room for `page` rows.
    mutating func range(page: Int, rows: Int) -> Range<Int> {
        self.page = max(1, page)
        clamp(rows)
        return first..<min(first + self.page, rows)
    }

    private mutating func clamp(_ rows: Int) { first = max(0, min(first, rows - page)) }
}
