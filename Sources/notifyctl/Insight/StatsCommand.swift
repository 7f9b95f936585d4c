import ArgumentParser
import NotifyClient

struct StatsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stats",
        abstract: "Print the daemon's counters, or the use of its limits.",
        discussion: """
            With --limits each line is 'NAME USED of LIMIT', or 'NAME USED' for a resource without a limit of its own. \
            The lines are those of the whole daemon and of this user or, with the right to manage everything, of the \
            first 1,000 users. If there are more users, unlisted_users is the number of the others. The limit of \
            user.UID.memory_bytes depends on the memory that the other users hold.

            With --format openmetrics the output is OpenMetrics text, which Prometheus reads. The names of the metrics \
            begin with notifyd_.

            EXAMPLES
              notifyctl stats
              notifyctl stats --limits
              notifyctl stats --json
              notifyctl stats --format openmetrics >/var/lib/node-exporter/notifyd.prom
            """)

    @OptionGroup var connection: ConnectionOptions

    @Flag(help: "Print the use of each limited resource.")
    var limits = false

    @Flag(help: "Print one JSON object, as --format json does.")
    var json = false

    @Option(help: ArgumentHelp("The format of the output.", valueName: "format"))
    var format: StatisticsFormat?

    func validate() throws {
        if json, let format, format != .json { throw ValidationError("give --json or --format, not both") }
    }

    func run() async throws {
        let format = format ?? (json ? .json : .text)
        let bytes = try await withNotificationClient(configuration: connection.configuration()) { client in
            limits
                ? format.bytes(of: try await client.administration.resourceUse())
                : format.bytes(of: try await client.administration.statistics())
        }
        var output = StandardOutput()
        output.gather { $0.append(contentsOf: bytes) }
        try output.flush()
    }
}
