import ArgumentParser
import NotifyClient

struct DurableRemoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Remove a durable subscription permanently.",
        discussion: """
            Messages that it has not acknowledged are not delivered any more. No client may be attached to it, unless \
            --force ends the clients' subscriptions first.

            EXAMPLES
              notifyctl durable remove billing
              notifyctl durable remove billing --force
              sudo notifyctl durable remove billing --user alice
            """)

    @OptionGroup var connection: ConnectionOptions

    @OptionGroup var subscription: DurableOptions

    @Flag(help: "First end the subscriptions of attached clients with an error.")
    var force = false

    func run() async throws {
        try await withNotificationClient(configuration: connection.configuration()) { client in
            try await client.administration.removeDurableSubscription(
                subscription.name, endsMembers: force, uid: subscription.uid)
        }
        var output = StandardOutput()
        output.append("removed \(subscription.name)\n")
        try output.flush()
    }
}
