import ArgumentParser
import NotifyClient

struct StatsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stats",
        abstract: "Print the daemon's counters.",
        discussion: """
            EXAMPLES
              notifyctl stats
              notifyctl stats --json
            """)

    @OptionGroup var connection: ConnectionOptions

    @Flag(help: "Print one JSON object.")
    var json = false

    func run() async throws {
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
        var json = JSONText()
        json.object { json in
            for counter in statistics.counters { json.member(counter.name, counter.value) }
            json.member("version", statistics.version)
        }
        return json.bytes
    }
}
