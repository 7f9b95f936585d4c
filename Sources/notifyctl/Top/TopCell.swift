/// A value in a row of `top`.
enum TopCell: Equatable, Sendable {
    case none
    case text(String)
    /// A number that names a thing, such as a pid.
    case identifier(UInt64)
    case number(UInt64)
    /// An upper bound of a number.
    case atMost(UInt64)
    /// A size in bytes.
    case bytes(UInt64)
    /// A count that only increases. Reports replace it by its rate per second.
    case total(UInt64)

    /// The text to show; `-` for a total whose rate is not known yet.
    var text: String {
        switch self {
        case .none, .total: Table.none
        case .text(let text): text
        case .identifier(let number), .number(let number): "\(number)"
        case .atMost(let number): "<=\(number)"
        case .bytes(let bytes): Quantities.bytes(bytes)
        }
    }

    /// Whether the cell has no value to sort by.
    var isMissing: Bool {
        switch self {
        case .none, .total: true
        case .text, .identifier, .number, .atMost, .bytes: false
        }
    }

    /// The text in which a filter searches; nil for cells that do not identify the row.
    var filterText: String? {
        switch self {
        case .text(let text): text
        case .identifier(let number): "\(number)"
        case .none, .number, .atMost, .bytes, .total: nil
        }
    }

    /// Whether this cell is sorted before the other one in ascending order.
    func isLess(than other: TopCell) -> Bool {
        if case .text(let left) = self, case .text(let right) = other { return left < right }
        return magnitude < other.magnitude
    }

    private var magnitude: UInt64 {
        switch self {
        case .identifier(let value), .number(let value), .atMost(let value), .bytes(let value), .total(let value): value
        case .none, .text: 0
        }
    }

    static func identifier(_ number: (some FixedWidthInteger)?) -> TopCell {
        number.map { .identifier(UInt64($0)) } ?? .none
    }

    static func text(_ text: String?) -> TopCell {
        text.map { .text($0) } ?? .none
    }
}

/// A row of `top`, with a cell for each column of its view.
struct TopRow: Equatable, Sendable {
    /// Identifies the row in successive reports.
    let id: String
    var cells: [TopCell]
    /// Whether the totals count as 0 in an earlier report without this row.
    var startsAtZero = false
}
