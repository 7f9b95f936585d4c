import ArgumentParser

struct DeadCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "dead",
        abstract: "List dead letters, and show, retry or purge them.",
        discussion: """
            A dead letter is a message of a durable subscription whose deliveries have failed as often as --max-deliveries \
            permits, or that a client has made a dead letter at once. It is kept with the reason until it is retried or \
            purged, or until the retention rules delete it.

            EXAMPLES
              notifyctl dead list
              notifyctl dead show billing --id 4711
              notifyctl dead retry billing
              notifyctl dead purge billing --id 4711 4712
            """,
        subcommands: [DeadListCommand.self, DeadShowCommand.self, DeadRetryCommand.self, DeadPurgeCommand.self])
}
