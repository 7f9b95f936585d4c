import ArgumentParser
import NotifyClient

struct ReloadCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reload",
        abstract: "Make the daemon read its configuration again.",
        discussion: """
            log_level, policy, log and limits take effect at once, except for log.checkpoint_bytes, limits.payload_bytes \
            and limits.per_connection.post_window. These and all other settings take effect at the next start; those \
            that have changed are listed. If a file has an error, nothing changes, and the exit status is 78.

            The daemon also repairs its log if the files of the database were deleted or moved away. If the repair \
            fails, the reason is on standard error, and the exit status is 1. Only root and the daemon's user may \
            reload, unless the policy allows others to manage.

            EXAMPLES
              sudo notifyctl reload
            """)

    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        let outcome = try await withNotificationClient(configuration: connection.configuration()) { client in
            try await client.administration.reloadConfiguration()
        }
        var output = StandardOutput()
        output.append(outcome.problem == nil ? "reloaded\n" : "configuration reloaded\n")
        if !outcome.pendingSettings.isEmpty {
            output.append("at the next start: \(outcome.pendingSettings.joined(separator: ", "))\n")
        }
        try output.flush()
        if let problem = outcome.problem { throw CommandFailure(.failure, problem) }
    }
}
