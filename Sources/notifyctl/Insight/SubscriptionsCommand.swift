import ArgumentParser
import NotifyClient

struct SubscriptionsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "subscriptions",
        abstract: "List the subscriptions of this user or, with the right to manage, of every user.",
        discussion: """
            Prints one line for each durable subscription and for each volatile subscription of a connected client: \
            its durable name, its user, the number of its client (see 'notifyctl clients') with process and program, \
            how far it is behind, its delivered but unacknowledged messages, its object and its patterns. '-' means \
            none.

            BEHIND is the distance of a durable subscription from the end of the log: the sequences after its position, \
            0 while it receives each message as it is stored. Each post of any name takes a sequence, also if it is not \
            stored, so usually far fewer messages are still to be delivered. PENDING of 'notifyctl durable list' counts \
            those.

            EXAMPLES
              notifyctl subscriptions
              notifyctl subscriptions --watch
              notifyctl subscriptions --json
            """)

    @OptionGroup var connection: ConnectionOptions
    @OptionGroup var options: ListOptions

    func run() async throws {
        let showsRates = options.watch
        let printer = ListPrinter<NotifyClient.SubscriptionStatus>(
            options: options, fetch: { try await $0.subscriptions() },
            table: { Self.table($0, since: $1, showsRates: showsRates) }, json: { Self.write($0, to: &$1) })
        try await printer.run(configuration: connection.configuration())
    }

    private struct Key: Hashable {
        let uid: UInt32
        let name: String
        let client: UInt64?
    }

    static func table(
        _ look: Look<NotifyClient.SubscriptionStatus>, since earlier: Look<NotifyClient.SubscriptionStatus>?,
        showsRates: Bool
    ) -> Table {
        var columns: [Table.Column] = [
            .text("DURABLE"), .text("USER"), .number("CLIENT"), .number("PID"), .text("PROGRAM"), .number("BEHIND"),
            .number("UNACKED"),
        ]
        if showsRates { columns.append(.number("ACKED/S")) }
        var table = Table(columns + [.text("OBJECT"), .text("PATTERNS")])
        let users = UserNames.names(of: look.items.map(\.uid))
        let counts = acknowledged(earlier?.items ?? [])
        for subscription in look.items {
            let durable = subscription.durable
            var cells = [
                durable?.name ?? Table.none, users[subscription.uid] ?? "\(subscription.uid)",
                text(subscription.client), text(subscription.pid),
                subscription.pid.flatMap { ProcessNames.program(of: $0) } ?? Table.none, text(durable?.behind),
                text(durable?.unacknowledged),
            ]
            if showsRates {
                let before = key(of: subscription).flatMap { counts[$0] }
                cells.append(text(rate(of: subscription, from: before, look.time, since: earlier?.time)))
            }
            table.append(cells + [subscription.object ?? Table.none, subscription.patterns.joined(separator: " ")])
        }
        return table
    }

    /// Acknowledged messages per second; nil if the earlier count is not known.
    private static func rate(
        of subscription: NotifyClient.SubscriptionStatus, from before: UInt64?, _ time: ContinuousClock.Instant,
        since earlier: ContinuousClock.Instant?
    ) -> UInt64? {
        guard let before, let earlier, let durable = subscription.durable else { return nil }
        return Quantities.rate(from: before, to: durable.acknowledged, in: time - earlier)
    }

    private static func acknowledged(_ items: [NotifyClient.SubscriptionStatus]) -> [Key: UInt64] {
        let counts = items.compactMap { item in key(of: item).map { ($0, item.durable?.acknowledged ?? 0) } }
        return Dictionary(counts, uniquingKeysWith: { first, _ in first })
    }

    private static func key(of subscription: NotifyClient.SubscriptionStatus) -> Key? {
        subscription.durable.map { Key(uid: subscription.uid, name: $0.name, client: subscription.client) }
    }

    private static func text(_ number: (some FixedWidthInteger)?) -> String { number.map { "\($0)" } ?? Table.none }

    static func write(_ subscription: NotifyClient.SubscriptionStatus, to json: inout JSONWriter) {
        let durable = subscription.durable
        json.object { json in
            json.member("durable", durable?.name)
            json.member("uid", subscription.uid)
            json.member("user", UserNames.name(of: subscription.uid))
            json.optionalMember("client", subscription.client)
            json.optionalMember("pid", subscription.pid)
            json.member("program", subscription.pid.flatMap { ProcessNames.program(of: $0) })
            json.optionalMember("cursor", durable?.cursor)
            json.optionalMember("behind", durable?.behind)
            json.optionalMember("acknowledged", durable?.acknowledged)
            json.optionalMember("unacknowledged", durable?.unacknowledged)
            json.member("object", subscription.object)
            json.key("patterns")
            json.array { json in
                for pattern in subscription.patterns { json.string(pattern) }
            }
        }
    }
}
