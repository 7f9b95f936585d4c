import ArgumentParser
import NotifyClient

struct DurableRemoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "End a durable subscription for good.",
        discussion: """
            Nobody may be attached to it. What it has not got is not kept for it any longer.

            EXAMPLES
              notifyctl durable remove billing
            """)

    @OptionGroup var connection: ConnectionOptions

    @Argument(help: "The subscription's name.")
    var name: String

    func run() async throws {
        try await withNotifyClient(configuration: connection.configuration()) { client in
            try await client.removeDurableSubscription(name)
        }
        var output = StandardOutput()
        output.append("removed \(name)\n")
        try output.flush()
    }
}
