import FoundationEssentials
import NotifyClient

/// Prints the stored messages of each name, as a table or as JSON.
struct SummaryPrinter {
    let isJSON: Bool

    func print(_ summary: NotifyClient.LogSummary) throws {
        var output = StandardOutput()
        if isJSON {
            for name in summary.names { Self.append(name.totals, name: name.name, to: &output) }
            if let others = summary.others { Self.append(others, name: nil, to: &output) }
        } else {
            for line in Self.table(summary).lines { output.append("\(line)\n") }
        }
        try output.flush()
    }

    static func table(_ summary: NotifyClient.LogSummary) -> Table {
        var table = Table([
            .number("MESSAGES"), .number("BYTES"), .number("FIRST"), .text("POSTED"), .number("LAST"), .text("POSTED"),
            .text("NAME"),
        ])
        for name in summary.names { append(name.totals, name: name.name, to: &table) }
        if let others = summary.others { append(others, name: "(other names)", to: &table) }
        return table
    }

    private static func append(_ totals: NotifyClient.LogSummary.Totals, name: String, to table: inout Table) {
        table.append([
            "\(totals.messages)", Quantities.bytes(totals.bytes), "\(totals.first.sequence)",
            Timestamp.text(microseconds: totals.first.date.microseconds), "\(totals.last.sequence)",
            Timestamp.text(microseconds: totals.last.date.microseconds), name,
        ])
    }

    private static func append(
        _ totals: NotifyClient.LogSummary.Totals, name: String?, to output: inout StandardOutput
    ) {
        var json = JSONWriter()
        json.object { json in
            json.member("name", name)
            json.member("messages", totals.messages)
            json.member("bytes", totals.bytes)
            json.member("first_sequence", totals.first.sequence)
            json.member("first_posted", Timestamp.text(microseconds: totals.first.date.microseconds))
            json.member("last_sequence", totals.last.sequence)
            json.member("last_posted", Timestamp.text(microseconds: totals.last.date.microseconds))
        }
        output.gather { $0.append(contentsOf: json.bytes) }
        output.append("\n")
    }
}

extension Date {
    /// The time in microseconds since 1970; 0 for an earlier one.
    fileprivate var microseconds: UInt64 { UInt64(max(0, (timeIntervalSince1970 * 1_000_000).rounded())) }
}
