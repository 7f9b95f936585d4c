import ArgumentParser
import NotifyClient

struct DurableSetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "set",
        abstract: "Change the settings of a durable subscription.",
        discussion: """
            The settings that are not given stay as they are. Attached clients stay attached, and messages that were \
            delivered before keep their deadlines. By default a group has a deadline of 30s and at most 5 deliveries, and \
            other subscriptions have no limits; the delays are 1s,10s,1m.

            EXAMPLES
              notifyctl durable set resize --deadline 5m --max-deliveries 3
              notifyctl durable set resize --retry-after 1s,10s,1m --in-flight 100
            """)

    @OptionGroup var connection: ConnectionOptions
    @OptionGroup var subscription: DurableOptions
    @OptionGroup var options: DurableSettingsOptions

    func validate() throws {
        if options.settings == NotificationClient.DurableSettings() {
            throw ValidationError("give at least one of --deadline, --retry-after, --max-deliveries and --in-flight")
        }
    }

    func run() async throws {
        let details = try await withNotificationClient(configuration: connection.configuration()) { client in
            try await client.administration.configureDurableSubscription(
                subscription.name, options.settings, uid: subscription.uid)
        }
        var output = StandardOutput()
        output.append("set \(subscription.name): \(Self.text(details.settings))\n")
        try output.flush()
    }

    /// The settings as options.
    static func text(_ settings: NotificationClient.DurableSettings) -> String {
        settings.options.joined(separator: " ")
    }
}
