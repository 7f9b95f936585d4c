import ArgumentParser
import NotifyClient

struct DurableCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "durable",
        abstract: "List durable subscriptions, and create, show, reset, edit, set or remove one.",
        discussion: """
            EXAMPLES
              notifyctl durable list
              notifyctl durable create billing 'orders.*' --from oldest
              notifyctl durable show billing
              notifyctl durable reset billing --to 2h
              notifyctl durable edit billing --patterns 'orders.>' 'refunds.>'
              notifyctl durable set billing --max-deliveries 5
              notifyctl durable remove billing
            """,
        subcommands: [
            DurableListCommand.self, DurableShowCommand.self, DurableCreateCommand.self, DurableResetCommand.self,
            DurableEditCommand.self, DurableSetCommand.self, DurableRemoveCommand.self,
        ])

    /// Completes the names of the daemon's durable subscriptions.
    static let nameCompletion = CompletionKind.shellCommand(
        "notifyctl durable list 2>/dev/null | tail -n +2 | cut -d ' ' -f 1")
}
