import ArgumentParser
import NotifyClient

struct DurableCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "durable",
        abstract: "List durable subscriptions, or remove one.",
        discussion: """
            EXAMPLES
              notifyctl durable list
              notifyctl durable remove billing
            """,
        subcommands: [DurableListCommand.self, DurableRemoveCommand.self])
}
