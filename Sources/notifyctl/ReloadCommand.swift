import ArgumentParser
import NotifyClient

struct ReloadCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reload",
        abstract: "Make the daemon read its configuration again.",
        discussion: """
            Log level, policy and limits take effect at once; the settings that wait for the next start are listed. If a \
            file has an error, nothing changes, and the exit status is 1. Only root and the daemon's user may reload, \
            unless the policy allows others to manage.

            EXAMPLES
              sudo notifyctl reload
            """)

    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        let pending = try await withNotifyClient(configuration: connection.configuration()) { client in
            try await client.reloadConfiguration()
        }
        var output = StandardOutput()
        output.append("reloaded\n")
        if !pending.isEmpty { output.append("at the next start: \(pending.joined(separator: ", "))\n") }
        try output.flush()
    }
}
