import NotifyWire

@testable import NotifyClient
@testable import notifyctl

/// Values for the tests of `top`.
enum TopSamples {
    static let start = ContinuousClock.now

    /// A view with a column of each kind.
    static let view = TopView(
        "things", key: "t",
        columns: [.text("NAME"), .identifier("ID"), .number("SIZE"), .number("RATE")], sortedBy: "SIZE"
    ) { _ in [] }

    static let otherView = TopView("others", key: "o", columns: [.text("OTHER")], sortedBy: "OTHER") { _ in [] }

    static func row(_ name: String, id: UInt64 = 1, size: UInt64 = 0, total: UInt64 = 0) -> TopRow {
        TopRow(id: name, cells: [.text(name), .identifier(id), .number(size), .total(total)])
    }

    static func report(
        _ rows: [TopRow] = [], of view: String = "things", counters: [String: UInt64] = [:], after seconds: Double = 0
    ) -> TopReport {
        let report = StatisticsReport(request: 1, counters: counters.map { .init(name: $0.key, value: $0.value) })
        return TopReport(
            viewName: view, statistics: Administration.Statistics(report, version: "1.2"), rows: rows,
            time: start + .seconds(seconds))
    }

    /// The words of a line.
    static func words(_ line: String) -> [String] { line.split(separator: " ").map(String.init) }
}
