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

    @OptionGroup var subscription: DurableOptions

    func run() async throws {
        try await withNotifyClient(configuration: connection.configuration()) { client in
            try await client.removeDurableSubscription(subscription.name, uid: subscription.uid)
        }
        var output = StandardOutput()
        output.append("removed \(subscription.name)\n")
        try output.flush()
    }
}
