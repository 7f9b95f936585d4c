import NotifyClient

/// Runs `top` without a terminal: prints each report as lines.
struct TopLines: Sendable {
    let view: TopView
    let order: TopOrder
    let interval: Duration
    /// The number of reports to print; nil for no limit.
    let count: Int?
    /// The part of a table that is printed. Evaluated for each report, because a terminal may be resized.
    var style: @Sendable () -> TableStyle = { .full }

    /// The maximum time before the first report.
    private static let firstInterval = Duration.seconds(1)

    /// Prints reports until the number is reached or the command is interrupted.
    ///
    /// - Throws: `StandardOutput.Failure.readerClosed` if the output is closed before all reports are printed;
    ///   `CommandFailure` if `count` is set and a signal arrives before that; errors of the client.
    func run(configuration: NotificationClient.Configuration) async throws {
        try await Interruption.run(incomplete: count == nil ? nil : .incomplete) {
            try await print(configuration, until: $0)
        }
    }

    private func print(_ configuration: NotificationClient.Configuration, until interruption: Interruption) async throws
    {
        var configuration = configuration
        configuration.onConnectionChange = ConnectionReporter().handler
        try await withNotificationClient(configuration: configuration) { client in
            // Not printed: rates need two reports.
            var earlier: TopReport? = try await client.report(of: view)
            try await Task.sleep(for: min(interval, Self.firstInterval))
            var printed = 0
            while true {
                do {
                    let report = try await client.report(of: view)
                    var output = StandardOutput()
                    if printed > 0 { output.append("\n") }
                    for line in lines(of: report, since: earlier) { output.append("\(line)\n") }
                    try await output.flush(until: interruption)
                    (earlier, printed) = (report, printed + 1)
                } catch let error as NotifyError where error.isTransient {
                    earlier = nil
                }
                if printed == count { return interruption.completeOutput() }
                try await Task.sleep(for: interval)
            }
        }
    }

    /// The daemon's figures, the titles, and the rows.
    func lines(of report: TopReport, since earlier: TopReport?) -> [String] {
        var table = Table(view.tableColumns)
        for row in order.arranged(report.rows(since: earlier)) { table.append(row.cells.map(\.text)) }
        let (style, figures) = (style(), report.figures(since: earlier))
        guard case .fitting(let columns, _) = style else {
            return [figures.joined(separator: "  ")] + table.lines()
        }
        return Frame.wrapped(figures, columns: columns).map(\.text) + table.lines(in: style)
    }
}
