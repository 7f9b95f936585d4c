import ArgumentParser
import NotifyClient

struct DeadRetryCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "retry",
        abstract: "Deliver dead letters again.",
        discussion: """
            Each dead letter goes to its durable subscription alone, with its deliveries counted from 1 again, and is no \
            longer a dead letter. If the subscription does not exist or has no room, the dead letter is kept and the exit \
            status is 1.

            EXAMPLES
              notifyctl dead retry billing
              notifyctl dead retry --id 4711 4712
            """)

    @OptionGroup var connection: ConnectionOptions
    @OptionGroup var letters: DeadLetterOptions

    func run() async throws {
        let selected = letters.selected
        let result = try await withNotificationClient(configuration: connection.configuration()) { [letters] client in
            let result = try await client.administration.retryDeadLetters(
                of: letters.durable, sequences: selected, uid: letters.uid)
            // If no dead letter was found, a mistyped name of the subscription is an error.
            if result.messages == 0, result.kept == 0 { try await letters.checkDurable(client) }
            return result
        }
        try DeadLetterText.report("retried", result, of: selected)
    }
}
