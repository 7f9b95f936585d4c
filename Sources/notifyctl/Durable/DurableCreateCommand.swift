import ArgumentParser
import NotifyClient

struct DurableCreateCommand: AsyncParsableCommand, PatternTaking {
    static let configuration = CommandConfiguration(
        commandName: "create",
        abstract: "Create a durable subscription without receiving from it.",
        discussion: """
            The daemon then keeps matching messages until 'notifyctl subscribe --durable NAME', or another client with \
            the same patterns, receives them. An existing subscription with these patterns and this object is not \
            changed, and --from has no effect on it. If its settings differ from the given ones, the exit status is 1.

            The start is \(PositionArgument.forms).

            EXAMPLES
              notifyctl durable create billing 'orders.*'
              notifyctl durable create audit 'orders.*' 'stock.>' --from oldest
              notifyctl durable create noon 'orders.>' --from 'yesterday 12:00'
              notifyctl durable create resize images.uploaded --group --max-deliveries 3
            """)

    @OptionGroup var connection: ConnectionOptions

    @Argument(help: "The subscription's name: 1 to 64 of letters, digits, '.', '_' and '-'.")
    var name: String

    @Argument(help: "Patterns of names. A message that matches several is delivered once.")
    var patterns: [String]

    @Option(help: ArgumentHelp("Only messages with this object.", valueName: "text"))
    var object: String?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Where in the log the subscription starts; 'now' by default.", valueName: "start"),
        completion: PositionArgument.completion, transform: { try PositionArgument.start($0) })
    var from: NotificationClient.Start?

    @OptionGroup private var groupOption: GroupOption

    @OptionGroup var options: DurableSettingsOptions

    private var sharing: NotificationClient.DurableSharing { groupOption.sharing }

    func validate() throws {
        try UserNames.check(patterns)
    }

    func run() async throws {
        // Check before connecting: wrong usage is reported even if no daemon runs.
        try Administration.validateDurableSubscription(
            name, to: patterns, object: object, settings: options.settings)
        let details = try await withNotificationClient(configuration: connection.configuration()) { client in
            try await client.administration.createDurableSubscription(
                name, to: patterns, object: object, from: from ?? .now, sharing: sharing, settings: options.settings)
        }
        if details.existed { try checkSettings(details.settings) }
        var output = StandardOutput()
        output.append("\(details.existed ? "exists" : "created") \(name)\n")
        try output.flush()
        let cursor = details.existed ? details.subscription.cursor : nil
        if let notice = ExistingSubscription.startNotice(name, from, resumedAfter: cursor) {
            StandardError.write(notice)
        }
    }

    /// Throws if a given setting differs from the setting of the existing subscription.
    private func checkSettings(_ existing: NotificationClient.DurableSettings) throws {
        guard !options.settings.differences(from: existing).isEmpty else { return }
        throw CommandFailure(
            .failure,
            "'\(name)' exists with other settings: \(DurableSetCommand.text(existing)); to change them, use "
                + "'notifyctl durable set'")
    }
}
