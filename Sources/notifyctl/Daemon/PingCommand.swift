import ArgumentParser
import NotifyClient

struct PingCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ping",
        abstract: "Check that the daemon responds.",
        discussion: """
            Prints the round-trip time. The exit status is 69 if there is no daemon.

            EXAMPLES
              notifyctl ping
              notifyctl ping > /dev/null && echo up
            """)

    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        let time = try await withNotificationClient(configuration: connection.configuration()) { client in
            // The first ping includes the time to connect, so only the second ping is measured.
            try await client.ping()
            return try await client.ping()
        }
        var output = StandardOutput()
        output.append(
            "notifyd answered in \(time.components.attoseconds / 1_000_000_000_000 + time.components.seconds * 1_000_000) µs\n"
        )
        try output.flush()
    }
}
