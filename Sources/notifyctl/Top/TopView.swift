import NotifyClient

/// A table of `top`: its columns, and the rows to request from the daemon.
struct TopView: Sendable {
    struct Column: Sendable {
        let title: String
        let isNumeric: Bool
        /// Whether the order is descending when the user selects the column.
        let isDescending: Bool
        /// Whether the column is left out where the width is limited, unless it is requested.
        var isWide = false

        static func text(_ title: String) -> Column { Column(title: title, isNumeric: false, isDescending: false) }
        static func identifier(_ title: String) -> Column { Column(title: title, isNumeric: true, isDescending: false) }
        static func number(_ title: String) -> Column { Column(title: title, isNumeric: true, isDescending: true) }

        /// The same column, left out by default.
        var wide: Column { Column(title: title, isNumeric: isNumeric, isDescending: isDescending, isWide: true) }
    }

    let name: String
    /// The key that switches to the view.
    let key: Character
    let columns: [Column]
    /// The index of the column that the rows are sorted by at first.
    let sortColumn: Int
    /// Requests the rows. In a column of rates, the cells are totals.
    let rows: @Sendable (NotificationClient) async throws -> [TopRow]
    /// The maximum time between two requests; nil for no limit.
    let longestInterval: Duration?

    init(
        _ name: String, key: Character, columns: [Column], sortedBy title: String, longestInterval: Duration? = nil,
        rows: @escaping @Sendable (NotificationClient) async throws -> [TopRow]
    ) {
        guard let sortColumn = columns.firstIndex(where: { $0.title == title }) else {
            preconditionFailure("the view \(name) has no column \(title)")
        }
        self.name = name
        self.key = key
        self.columns = columns
        self.sortColumn = sortColumn
        self.longestInterval = longestInterval
        self.rows = rows
    }

    /// The views, in the order in which Tab shows them.
    static let all = [clients, subscriptions, names]

    /// The columns of a ``Table`` for this view.
    var tableColumns: [Table.Column] {
        columns.map { Table.Column(title: $0.title, isNumeric: $0.isNumeric, isWide: $0.isWide) }
    }
}
