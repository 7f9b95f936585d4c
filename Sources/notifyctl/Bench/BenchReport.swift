/// The result of a benchmark.
struct BenchReport: Sendable {
    /// One measured direction, such as posting or receiving.
    struct Part: Sendable {
        /// The name of the direction, such as "posted".
        var title: String
        /// The subject of the latencies, such as "receipts".
        var latencyTitle: String
        var measurement: BenchMeasurement
        /// Whether the daemon may drop messages.
        var mayDrop = false
    }

    var benchmark: String
    var name: String
    var messages: Int
    var bytes: Int
    /// The number of clients in each role, such as "subscribers".
    var clients: [(role: String, count: Int)]
    /// The time just before the first post, in nanoseconds.
    var start: UInt64
    var parts: [Part]

    private static let percentiles: [(name: String, key: String, fraction: Double)] = [
        ("p50", "p50", 0.5), ("p90", "p90", 0.9), ("p99", "p99", 0.99), ("p99.9", "p999", 0.999),
    ]

    // MARK: JSON

    /// One JSON object. Times are in nanoseconds.
    var json: [UInt8] {
        var json = JSONWriter()
        json.object { json in
            json.member("benchmark", benchmark)
            json.member("name", name)
            json.member("messages", messages)
            json.member("payload_bytes", bytes)
            for (role, count) in clients { json.member(role, count) }
            for part in parts {
                json.key(part.title.replacing(" ", with: "_"))
                append(part, to: &json)
            }
        }
        return json.bytes
    }

    private func append(_ part: Part, to json: inout JSONWriter) {
        let latencies = part.measurement.latencies
        json.object { json in
            json.member("messages", latencies.count)
            if part.mayDrop { json.member("dropped", part.measurement.dropped) }
            json.member("nanoseconds", elapsed(part))
            json.member("messages_per_second", UInt64(rate(part)))
            json.member("bytes_per_second", UInt64(rate(part) * Double(bytes)))
            json.key("latency_nanoseconds")
            json.object { json in
                for percentile in Self.percentiles {
                    json.member(percentile.key, latencies.value(at: percentile.fraction))
                }
                json.member("max", latencies.maximum)
            }
        }
    }

    // MARK: Text

    /// The lines to print.
    var text: String {
        let roles = clients.map { ", \($0.role) \(BenchFormat.grouped(UInt64($0.count)))" }.joined()
        var lines = ["\(BenchFormat.grouped(UInt64(messages))) messages of \(bytes) B under \(name)\(roles)"]
        for part in parts {
            var line =
                "\(part.title): \(BenchFormat.grouped(UInt64(rate(part)))) messages/s, "
                + "\(BenchFormat.significant(rate(part) * Double(bytes) / 1e6)) MB/s, "
                + "in \(BenchFormat.time(elapsed(part)))"
            if part.mayDrop { line += ", \(BenchFormat.grouped(part.measurement.dropped)) dropped" }
            lines.append(line)
            lines.append("  \(part.latencyTitle): \(percentilesText(part.measurement.latencies))")
        }
        return lines.map { $0 + "\n" }.joined()
    }

    private func percentilesText(_ latencies: Histogram) -> String {
        let values = Self.percentiles.map { ($0.name, latencies.value(at: $0.fraction)) } + [("max", latencies.maximum)]
        return values.map { "\($0) \(BenchFormat.time($1))" }.joined(separator: ", ")
    }

    // MARK: Figures

    private func elapsed(_ part: Part) -> UInt64 { max(part.measurement.end, start + 1) - start }

    private func rate(_ part: Part) -> Double {
        Double(part.measurement.latencies.count) * 1e9 / Double(elapsed(part))
    }
}
