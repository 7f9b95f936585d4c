import ArgumentParser
import Glibc
import NotifyClient

struct DurableCreateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create",
        abstract: "Create a durable subscription without receiving from it.",
        discussion: """
            The daemon then keeps matching messages until 'notifyctl subscribe --durable NAME', or another client with the \
            same patterns, receives them. An existing subscription with these patterns and this object is not changed, \
            and --from has no effect on it; if it has other settings than those given, the status is 1.

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
    var from: NotifyClient.Start?

    @OptionGroup private var groupOption: GroupOption

    @OptionGroup var options: DurableSettingsOptions

    private var sharing: NotifyClient.DurableSharing { groupOption.sharing }

    func validate() throws {
        try UserNames.check(patterns)
    }

    func run() async throws {
        // Check before connecting: wrong usage is reported even if no daemon runs.
        try NotifyClient.validateDurableSubscription(name, to: patterns, object: object, settings: options.settings)
        let existing = try await withNotifyClient(configuration: connection.configuration()) {
            client -> NotifyClient.DurableSubscription? in
            if let existing = try await client.durableSubscriptions().first(where: isSelected) {
                if let refusal = Self.refusal(of: sharing, by: existing) { throw refusal }
                try checkSettings(try await client.durableSubscription(name).settings)
                return existing
            }
            try await client.createDurableSubscription(
                name, to: patterns, object: object, from: from ?? .now, sharing: sharing, settings: options.settings)
            return nil
        }
        var output = StandardOutput()
        output.append("\(existing == nil ? "created" : "exists") \(name)\n")
        try output.flush()
        if let notice = ExistingSubscription.startNotice(name, from, resumedAfter: existing?.cursor) {
            StandardError.write(notice)
        }
    }

    /// Throws if a setting that was given differs from that of the existing subscription.
    private func checkSettings(_ existing: NotifyClient.DurableSettings) throws {
        guard !options.settings.differences(from: existing).isEmpty else { return }
        throw CommandFailure(
            .failure,
            "'\(name)' exists with other settings: \(DurableSetCommand.text(existing)); to change them, use "
                + "'notifyctl durable set'")
    }

    /// Whether a listed subscription has the name, the patterns and the object of the one to create. The daemon refuses
    /// to create one with the name and another filter. The list may contain subscriptions of other users, for example
    /// for root.
    private func isSelected(_ subscription: NotifyClient.DurableSubscription) -> Bool {
        subscription.name == name && subscription.uid == geteuid() && Set(subscription.patterns) == Set(patterns)
            && subscription.object ?? "" == object ?? ""
    }

    /// Why a subscription can't be created, because one exists that is shared in another way; nil if it can. The
    /// daemon's refusal names an option that this command does not have.
    static func refusal(
        of sharing: NotifyClient.DurableSharing, by existing: NotifyClient.DurableSubscription
    ) -> CommandFailure? {
        guard existing.sharing != sharing else { return nil }
        let difference =
            switch existing.sharing {
            case .group: "as a group: add --group"
            case .exclusive: "without a group: omit --group"
            }
        return CommandFailure(
            .refused,
            "'\(existing.name)' exists \(difference), use another name, or remove it with 'notifyctl durable "
                + "remove', which discards its messages")
    }
}
