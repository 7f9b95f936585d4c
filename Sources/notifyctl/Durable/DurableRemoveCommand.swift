import ArgumentParser
import NotifyClient

struct DurableRemoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Remove a durable subscription permanently.",
        discussion: """
            No client may be attached to it. The daemon discards its messages that were not acknowledged.

            EXAMPLES
              notifyctl durable remove billing
              sudo notifyctl durable remove billing --user alice
            """)

    @OptionGroup var connection: ConnectionOptions

    @Argument(help: "The subscription's name.", completion: DurableCommand.nameCompletion)
    var name: String

    @Option(
        name: .customLong("user"),
        help: ArgumentHelp(
            "The owner, by name or uid. To name another user, you need the right to manage.", valueName: "user"),
        completion: .shellCommand("cut -d : -f 1 /etc/passwd"), transform: { try UserNames.uid(argument: $0) })
    var uid: UInt32?

    func run() async throws {
        try await withNotifyClient(configuration: connection.configuration()) { client in
            try await client.removeDurableSubscription(name, uid: uid)
        }
        var output = StandardOutput()
        output.append("removed \(name)\n")
        try output.flush()
    }
}
