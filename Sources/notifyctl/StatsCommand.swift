import ArgumentParser
import NotifyClient

struct StatsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stats",
        abstract: "Print the daemon's counters, or the use of its limits.",
        discussion: """
            With --limits each line is 'NAME USED of LIMIT', or 'NAME USED' for a resource that only the total memory limits: \
            the use of this user, or with the right to manage of every user. The limit of user.UID.memory_bytes depends \
            on the memory that the other users hold.

            EXAMPLES
              notifyctl stats
              notifyctl stats --limits
              notifyctl stats --json
            """)

    @OptionGroup var connection: ConnectionOptions

    @Flag(help: "Print the use of each limited resource.")
    var limits = false

    @Flag(help: "Print one JSON object.")
    var json = false

    func run() async throws {
        if limits { try await printLimits() } else { try await printCounters() }
    }

    private func printLimits() async throws {
        let uses = try await withNotifyClient(configuration: connection.configuration()) { client in
            try await client.resourceUse()
        }
        var output = StandardOutput()
        if json {
            output.gather { $0.append(contentsOf: Self.json(uses)) }
            output.append("\n")
        } else {
            for use in uses { output.append("\(use.name) \(use.used)\(use.limit.map { " of \($0)" } ?? "")\n") }
        }
        try output.flush()
    }

    static func json(_ uses: [NotifyClient.ResourceUse]) -> [UInt8] {
        var json = JSONWriter()
        json.object { json in
            for use in uses {
                json.member(use.name, use.used)
                if let limit = use.limit { json.member("\(use.name).limit", limit) }
            }
        }
        return json.bytes
    }

    private func printCounters() async throws {
        let statistics = try await withNotifyClient(configuration: connection.configuration()) { client in
            try await client.statistics()
        }
        var output = StandardOutput()
        if json {
            output.gather { $0.append(contentsOf: Self.json(statistics)) }
            output.append("\n")
        } else {
            for counter in statistics.counters { output.append("\(counter.name) \(counter.value)\n") }
            output.append("version \(statistics.version)\n")
        }
        try output.flush()
    }

    static func json(_ statistics: NotifyClient.Statistics) -> [UInt8] {
        var json = JSONWriter()
        json.object { json in
            for counter in statistics.counters { json.member(counter.name, counter.value) }
            json.member("version", statistics.version)
        }
        return json.bytes
    }
}
