import NotifyClient

extension TopView {
    /// The durable and volatile subscriptions, and the servers.
    static let subscriptions = TopView(
        "subscriptions", key: "s",
        columns: [
            .text("KIND"), .text("DURABLE"), .text("USER"), .identifier("PID"), .text("PROGRAM"), .number("BEHIND"),
            .number("ACKED/S"), .text("PATTERNS"), .number("UNACKED").wide, .number("CONCURRENCY").wide,
            .identifier("CLIENT").wide, .text("OBJECT").wide,
        ],
        sortedBy: "BEHIND"
    ) { rows(of: try await $0.administration.subscriptions()) }

    static func rows(of subscriptions: [Administration.SubscriptionStatus]) -> [TopRow] {
        let users = UserNames.names(of: subscriptions.map(\.uid))
        let programs = ProcessNames.programs(of: subscriptions.compactMap(\.pid))
        return subscriptions.map { subscription in
            let durable = subscription.durable
            return TopRow(
                // The id contains the client, because counts begin at 0 again when a client attaches. Volatile
                // subscriptions and servers have no such counts, so they may share an id.
                id: "\(subscription.uid) \(durable?.name ?? "") \(subscription.client ?? 0)",
                cells: [
                    .text(SubscriptionsCommand.kind(of: subscription)), .text(durable?.name),
                    .text(users[subscription.uid] ?? "\(subscription.uid)"),
                    .identifier(subscription.pid), .text(subscription.pid.flatMap { programs[$0] }),
                    behind(durable), durable.map { .total($0.acknowledged) } ?? .none,
                    .text(subscription.patterns.joined(separator: " ")),
                    SubscriptionsCommand.inFlight(of: subscription).map { .number(UInt64($0)) } ?? .none,
                    subscription.server.map { .number(UInt64($0.concurrency)) } ?? .none,
                    .identifier(subscription.client), .text(subscription.object),
                ])
        }
    }

    private static func behind(_ durable: Administration.SubscriptionStatus.Durable?) -> TopCell {
        guard let durable, let behind = durable.behind else { return .none }
        return durable.isBehindUpperBound ? .atMost(behind) : .number(behind)
    }
}
