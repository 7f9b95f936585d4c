import NotifyClient

extension TopView {
    /// The durable and volatile subscriptions.
    static let subscriptions = TopView(
        "subscriptions", key: "s",
        columns: [
            .text("DURABLE"), .text("USER"), .identifier("CLIENT"), .identifier("PID"), .text("PROGRAM"),
            .number("BEHIND"), .number("UNACKED"), .number("ACKED/S"), .text("OBJECT"), .text("PATTERNS"),
        ],
        sortedBy: "BEHIND"
    ) { rows(of: try await $0.subscriptions()) }

    static func rows(of subscriptions: [NotifyClient.SubscriptionStatus]) -> [TopRow] {
        let users = UserNames.names(of: subscriptions.map(\.uid))
        let programs = ProcessNames.programs(of: subscriptions.compactMap(\.pid))
        return subscriptions.map { subscription in
            let durable = subscription.durable
            return TopRow(
                // With the client, because counts begin anew when a client attaches. Volatile subscriptions may share
                // an id, because they have no counts.
                id: "\(subscription.uid) \(durable?.name ?? "") \(subscription.client ?? 0)",
                cells: [
                    .text(durable?.name), .text(users[subscription.uid] ?? "\(subscription.uid)"),
                    .identifier(subscription.client), .identifier(subscription.pid),
                    .text(subscription.pid.flatMap { programs[$0] }), durable.map { .number($0.behind) } ?? .none,
                    durable.map { .number(UInt64($0.unacknowledged)) } ?? .none,
                    durable.map { .total($0.acknowledged) } ?? .none, .text(subscription.object),
                    .text(subscription.patterns.joined(separator: " ")),
                ])
        }
    }
}
