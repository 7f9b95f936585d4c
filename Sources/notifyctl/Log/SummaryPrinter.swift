import NotifyClient

/// Prints the stored messages of each name, as a table or as JSON.
struct SummaryPrinter {
    let isJSON: Bool
    let times: TimeStyle
    let style: TableStyle

    func print(_ summary: Administration.LogSummary) throws {
        var output = StandardOutput()
        if isJSON {
            for name in summary.names { Self.append(name.totals, name: name.name, to: &output) }
            if let others = summary.others { Self.append(others, name: nil, to: &output) }
        } else {
            for line in Self.table(summary, times).lines(in: style) { output.append("\(line)\n") }
        }
        try output.flush()
    }

    static func table(_ summary: Administration.LogSummary, _ times: TimeStyle) -> Table {
        var table = Table([
            .text("NAME"), .number("MESSAGES"), .number("BYTES"), .time("LAST-POSTED"), .number("LAST").wide,
            .number("FIRST").wide, .time("FIRST-POSTED").wide,
        ])
        for name in summary.names { append(name.totals, name: name.name, times, to: &table) }
        if let others = summary.others { append(others, name: "(other names)", times, to: &table) }
        return table
    }

    private static func append(
        _ totals: Administration.LogSummary.Totals, name: String, _ times: TimeStyle, to table: inout Table
    ) {
        table.append([
            name, "\(totals.messages)", Quantities.bytes(totals.bytes), times.text(totals.last.date),
            "\(totals.last.sequence)", "\(totals.first.sequence)", times.text(totals.first.date),
        ])
    }

    private static func append(
        _ totals: Administration.LogSummary.Totals, name: String?, to output: inout StandardOutput
    ) {
        var json = JSONWriter()
        json.object { json in
            json.member("name", name)
            json.member("messages", totals.messages)
            json.member("bytes", totals.bytes)
            json.member("first_sequence", totals.first.sequence)
            json.member("first_time", Timestamp.text(totals.first.date))
            json.member("last_sequence", totals.last.sequence)
            json.member("last_time", Timestamp.text(totals.last.date))
        }
        output.gather { $0.append(contentsOf: json.bytes) }
        output.append("\n")
    }
}
