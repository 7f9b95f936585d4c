import ArgumentParser
import NotifyClient

struct SubscriptionsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "subscriptions",
        abstract: "List the subscriptions and servers of this user or, with the right to manage everything, of all.",
        discussion: """
            Prints one line for each durable subscription, and for each volatile subscription and each server (see \
            'notifyctl serve') of a connected client: its kind, its durable name, its user, the process of its client \
            and the program of that process, how far it is behind, and its patterns. The last columns, which --wide \
            shows, are its delivered but unacknowledged messages, for a server the requests that it holds and how many \
            it may hold (CONCURRENCY), the number of its client (see 'notifyctl clients') and its object. '-' stands \
            for no value.

            BEHIND is the number of messages that a durable subscription may receive and that are not acknowledged, \
            like PENDING of 'notifyctl durable list', or '?' if the daemon has not counted them yet. '<=' marks an \
            upper bound. --watch adds acknowledged messages per second.

            \(ListOptions.discussion)

            EXAMPLES
              notifyctl subscriptions
              notifyctl subscriptions --watch
              notifyctl subscriptions --json
            """)

    @OptionGroup var connection: ConnectionOptions
    @OptionGroup var options: ListOptions

    func validate() throws { try options.checkInterval() }

    func run() async throws {
        let showsRates = options.watch
        let printer = ListPrinter<Administration.SubscriptionStatus>(
            options: options, title: "subscriptions", fetch: { try await $0.administration.subscriptions() },
            table: { Self.table($0, since: $1, showsRates: showsRates) }, json: { Self.write($0, to: &$1) })
        try await printer.run(configuration: connection.configuration())
    }

    private struct Key: Hashable {
        let uid: UInt32
        let name: String
        let client: UInt64?
    }

    static func table(
        _ look: Look<Administration.SubscriptionStatus>,
        since earlier: Look<Administration.SubscriptionStatus>?,
        showsRates: Bool
    ) -> Table {
        var columns: [Table.Column] = [
            .text("KIND"), .text("DURABLE"), .text("USER"), .number("PID"), .text("PROGRAM"), .number("BEHIND"),
        ]
        if showsRates { columns.append(.number("ACKED/S")) }
        columns += [
            .text("PATTERNS"), .number("UNACKED").wide, .number("CONCURRENCY").wide, .number("CLIENT").wide,
            .text("OBJECT").wide,
        ]
        var table = Table(columns)
        let users = UserNames.names(of: look.items.map(\.uid))
        let counts = acknowledged(earlier?.items ?? [])
        for subscription in look.items {
            let durable = subscription.durable
            var cells = [
                kind(of: subscription), durable?.name ?? Table.none, users[subscription.uid] ?? "\(subscription.uid)",
                text(subscription.pid),
                subscription.pid.flatMap { ProcessNames.program(of: $0) } ?? Table.none,
                durable.map(behind) ?? Table.none,
            ]
            if showsRates {
                let before = key(of: subscription).flatMap { counts[$0] }
                cells.append(text(rate(of: subscription, from: before, look.time, since: earlier?.time)))
            }
            cells += [
                subscription.patterns.joined(separator: " "), text(inFlight(of: subscription)),
                text(subscription.server?.concurrency), text(subscription.client), subscription.object ?? Table.none,
            ]
            table.append(cells)
        }
        return table
    }

    /// Acknowledged messages per second; nil if the earlier count is unknown.
    private static func rate(
        of subscription: Administration.SubscriptionStatus, from before: UInt64?, _ time: ContinuousClock.Instant,
        since earlier: ContinuousClock.Instant?
    ) -> UInt64? {
        guard let before, let earlier, let durable = subscription.durable else { return nil }
        return Quantities.rate(from: before, to: durable.acknowledged, in: time - earlier)
    }

    private static func acknowledged(_ items: [Administration.SubscriptionStatus]) -> [Key: UInt64] {
        let counts = items.compactMap { item in key(of: item).map { ($0, item.durable?.acknowledged ?? 0) } }
        return Dictionary(counts, uniquingKeysWith: { first, _ in first })
    }

    private static func key(of subscription: Administration.SubscriptionStatus) -> Key? {
        subscription.durable.map { Key(uid: subscription.uid, name: $0.name, client: subscription.client) }
    }

    static func kind(of subscription: Administration.SubscriptionStatus) -> String {
        if subscription.server != nil { return "server" }
        return subscription.durable == nil ? "volatile" : "durable"
    }

    /// The delivered but unacknowledged messages of a durable subscription, or the requests that a server holds.
    static func inFlight(of subscription: Administration.SubscriptionStatus) -> Int? {
        subscription.server?.heldRequests ?? subscription.durable?.unacknowledged
    }

    private static func behind(_ durable: Administration.SubscriptionStatus.Durable) -> String {
        durable.behind.map { durable.isBehindUpperBound ? "<=\($0)" : "\($0)" } ?? Table.unknown
    }

    private static func text(_ number: (some FixedWidthInteger)?) -> String { number.map { "\($0)" } ?? Table.none }

    static func write(_ subscription: Administration.SubscriptionStatus, to json: inout JSONWriter) {
        let durable = subscription.durable
        json.object { json in
            json.member("kind", kind(of: subscription))
            json.member("durable", durable?.name)
            json.member("uid", subscription.uid)
            json.member("user", UserNames.name(of: subscription.uid))
            json.optionalMember("client", subscription.client)
            json.optionalMember("pid", subscription.pid)
            json.member("program", subscription.pid.flatMap { ProcessNames.program(of: $0) })
            json.optionalMember("cursor", durable?.cursor)
            json.optionalMember("behind", durable.flatMap(\.behind))
            json.member("behind_is_upper_bound", durable?.isBehindUpperBound ?? false)
            json.optionalMember("acknowledged", durable?.acknowledged)
            json.optionalMember("in_flight", inFlight(of: subscription))
            json.optionalMember("concurrency", subscription.server?.concurrency)
            json.member("object", subscription.object)
            json.key("patterns")
            json.array { json in
                for pattern in subscription.patterns { json.string(pattern) }
            }
        }
    }
}
