import Glibc
import NotifyClient

/// Runs `top` without a terminal: prints each report as lines.
struct TopLines: Sendable {
    let view: TopView
    let order: TopOrder
    let interval: Duration
    /// The number of reports to print; nil for no limit.
    let count: Int?

    /// Prints reports until the number is reached or the command is interrupted.
    func run(configuration: NotifyClient.Configuration) async throws {
        let signals = await Interruption.trapSignals()
        let interruption = Interruption()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await interruption.watchSignals(signals) }
            group.addTask { await interruption.watchReader(of: STDOUT_FILENO) }
            defer { group.cancelAll() }
            do {
                try await print(configuration, until: interruption)
            } catch is StandardOutput.Failure {
                // The reader has closed the output, or the write was interrupted.
            } catch  where interruption.reason != nil {
                // A request or a wait was cancelled.
            }
        }
    }

    private func print(_ configuration: NotifyClient.Configuration, until interruption: Interruption) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await print(configuration, flushingUntil: interruption) }
            group.addTask { _ = await interruption.wait() }
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    private func print(
        _ configuration: NotifyClient.Configuration, flushingUntil interruption: Interruption
    ) async throws {
        var configuration = configuration
        configuration.onConnectionChange = ConnectionReporter().handler
        try await withNotifyClient(configuration: configuration) { client in
            var earlier: TopReport?
            var printed = 0
            while true {
                do {
                    let report = try await client.report(of: view)
                    var output = StandardOutput()
                    if printed > 0 { output.append("\n") }
                    for line in lines(of: report, since: earlier) { output.append("\(line)\n") }
                    try await output.flush(until: interruption)
                    (earlier, printed) = (report, printed + 1)
                } catch let error as NotifyError where error.isConnectionLoss {
                    earlier = nil
                }
                if printed == count { return }
                try await Task.sleep(for: interval)
            }
        }
    }

    /// The daemon's figures, the titles, and the rows.
    func lines(of report: TopReport, since earlier: TopReport?) -> [String] {
        var table = Table(view.tableColumns)
        for row in order.arranged(report.rows(since: earlier)) { table.append(row.cells.map(\.text)) }
        return [report.figures(since: earlier).joined(separator: "  ")] + table.lines
    }
}
