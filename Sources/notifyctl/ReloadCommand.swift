import ArgumentParser
import NotifyClient

struct ReloadCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reload",
        abstract: "Make the daemon read its configuration again.",
        discussion: """
            log_level, policy, log and limits take effect at once, except for log.checkpoint_bytes, limits.payload_bytes \
            and limits.per_connection.post_window. These and all other settings take effect at the next start; those \
            that have changed are listed. If a file has an error, nothing changes, and the exit status is 1. Only root \
            and the daemon's user may reload, unless the policy allows others to manage.

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
