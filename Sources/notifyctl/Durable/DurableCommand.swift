import ArgumentParser
import NotifyClient

struct DurableCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "durable",
        abstract: "List durable subscriptions, create one, or remove one.",
        discussion: """
            EXAMPLES
              notifyctl durable list
              notifyctl durable create billing 'orders.>' --from oldest
              notifyctl durable remove billing
            """,
        subcommands: [DurableListCommand.self, DurableCreateCommand.self, DurableRemoveCommand.self])

    /// Completes the names of the daemon's durable subscriptions.
    static let nameCompletion = CompletionKind.shellCommand(
        "notifyctl durable list 2>/dev/null | tail -n +2 | cut -d ' ' -f 1")
}
