import ArgumentParser
import NotifyClient

/// The format in which `stats` prints figures.
enum StatisticsFormat: String, ExpressibleByArgument, CaseIterable {
    case text
    case json
    case openmetrics

    // MARK: Counters

    func bytes(of statistics: Administration.Statistics) -> [UInt8] {
        switch self {
        case .text:
            Array(
                (statistics.counters.map { "\($0.name) \($0.value)\n" } + ["version \(statistics.version)\n"]).joined()
                    .utf8)
        case .json: Self.json(statistics)
        case .openmetrics: Array(Self.openMetrics(statistics).utf8)
        }
    }

    private static func json(_ statistics: Administration.Statistics) -> [UInt8] {
        var json = JSONWriter()
        json.object { json in
            for counter in statistics.counters { json.member(counter.name, counter.value) }
            json.member("version", statistics.version)
        }
        return json.bytes + [UInt8(ascii: "\n")]
    }

    private static func openMetrics(_ statistics: Administration.Statistics) -> String {
        var writer = OpenMetricsWriter()
        writer.append(
            "notifyd", .info, help: "The version of the daemon.",
            [.init(labels: [("version", statistics.version)], value: 1)])
        for counter in statistics.counters {
            writer.append(
                "notifyd_\(counter.name)", .init(counter.kind), help: counter.summary, [.init(value: counter.value)])
        }
        writer.end()
        return writer.text
    }

    // MARK: Limits

    func bytes(of uses: [Administration.ResourceUse]) -> [UInt8] {
        switch self {
        case .text: Array(uses.map { "\($0.name) \($0.used)\($0.limit.map { " of \($0)" } ?? "")\n" }.joined().utf8)
        case .json: Self.json(uses)
        case .openmetrics: Array(Self.openMetrics(uses).utf8)
        }
    }

    private static func json(_ uses: [Administration.ResourceUse]) -> [UInt8] {
        var json = JSONWriter()
        json.object { json in
            for use in uses {
                json.member(use.name, use.used)
                if let limit = use.limit { json.member("\(use.name).limit", limit) }
            }
        }
        return json.bytes + [UInt8(ascii: "\n")]
    }

    private static func openMetrics(_ uses: [Administration.ResourceUse]) -> String {
        var writer = OpenMetricsWriter()
        writer.append(
            "notifyd_resource_used", .gauge, help: "Use of a limited resource, by one user if there is a uid.",
            uses.map { .init(labels: labels($0), value: $0.used) })
        writer.append(
            "notifyd_resource_limit", .gauge, help: "Limit of a resource, for one user if there is a uid.",
            uses.compactMap { use in use.limit.map { .init(labels: labels(use), value: $0) } })
        writer.end()
        return writer.text
    }

    /// The labels of a resource. `user.1000.connections` is the resource `connections` of the uid 1000.
    private static func labels(_ use: Administration.ResourceUse) -> [(name: String, value: String)] {
        let parts = use.name.split(separator: ".", maxSplits: 2)
        guard parts.count == 3, parts[0] == "user" else { return [("resource", use.name)] }
        return [("resource", String(parts[2])), ("uid", String(parts[1]))]
    }
}

extension OpenMetricsWriter.FamilyType {
    init(_ kind: Administration.Statistics.Kind) {
        switch kind {
        case .total: self = .counter
        case .present: self = .gauge
        case .unknown: self = .unknown
        }
    }
}
