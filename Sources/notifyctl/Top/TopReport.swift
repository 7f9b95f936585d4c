import NotifyClient

/// A report of the daemon at one time: its counters, and the rows of a view.
struct TopReport: Sendable {
    let viewName: String
    let statistics: Administration.Statistics
    let rows: [TopRow]
    let time: ContinuousClock.Instant

    /// The rows with rates in place of totals. A rate is missing if the earlier report does not have the row, unless
    /// the row starts at zero.
    func rows(since earlier: TopReport?) -> [TopRow] {
        guard let earlier, earlier.viewName == viewName else { return rows }
        let earlierRows = Dictionary(earlier.rows.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
        return rows.map { row in
            let earlierRow = earlierRows[row.id]
            guard earlierRow != nil || row.startsAtZero else { return row }
            let cells = row.cells.enumerated().map { index, cell in
                guard case .total(let last) = cell else { return cell }
                var first: UInt64 = 0
                if case .total(let total) = earlierRow?.cells[index] { first = total }
                return TopCell.number(Quantities.rate(from: first, to: last, in: time - earlier.time))
            }
            return TopRow(id: row.id, cells: cells)
        }
    }

    /// The figures of the whole daemon, each with its name. `-` means unknown.
    func figures(since earlier: TopReport?) -> [String] {
        func value(_ name: String) -> String { statistics[name].map { "\($0)" } ?? Table.none }
        func bytes(_ name: String) -> String { statistics[name].map(Quantities.bytes) ?? Table.none }
        func rate(_ names: String...) -> String {
            guard let earlier else { return "\(Table.none)/s" }
            let rates = names.compactMap { name in
                earlier.statistics[name].flatMap { before in
                    statistics[name].map { Quantities.rate(from: before, to: $0, in: time - earlier.time) }
                }
            }
            return rates.count == names.count ? "\(rates.reduce(0, &+))/s" : "\(Table.none)/s"
        }
        return [
            "notifyd \(statistics.version)",
            "up \(statistics["uptime_seconds"].map(Quantities.duration) ?? Table.none)",
            "connections \(value("connections"))", "in \(rate("messages_in"))", "delivered \(rate("delivered"))",
            "stored \(rate("stored"))", "dropped \(rate("dropped", "dropped_by_clients"))",
            "memory \(bytes("memory_bytes")) of \(bytes("memory_limit_bytes"))", "forbidden \(value("forbidden"))",
        ].map(Table.printable)
    }
}

extension NotificationClient {
    /// Requests the daemon's counters and the rows of a view.
    func report(of view: TopView) async throws -> TopReport {
        let statistics = try await administration.statistics()
        let rows = try await view.rows(self)
        return TopReport(viewName: view.name, statistics: statistics, rows: rows, time: .now)
    }
}
