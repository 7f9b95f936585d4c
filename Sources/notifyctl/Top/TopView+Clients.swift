import NotifyClient

extension TopView {
    /// The connected clients.
    static let clients = TopView(
        "clients", key: "c",
        columns: [
            .identifier("CLIENT"), .text("USER"), .identifier("PID"), .text("PROGRAM"), .number("POSTS/S"),
            .number("DELIVERED/S"), .number("DROPPED/S"), .number("WAITING"), .number("DROPPED").wide,
            .number("REFUSED").wide,
        ],
        sortedBy: "DELIVERED/S"
    ) { rows(of: try await $0.administration.clients()) }

    static func rows(of clients: [Administration.ClientStatus]) -> [TopRow] {
        let users = UserNames.names(of: clients.map(\.uid))
        let programs = ProcessNames.programs(of: clients.map(\.pid))
        return clients.map { client in
            let dropped = client.dropped.addingReportingOverflow(client.droppedByClient).partialValue
            return TopRow(
                // A restarted daemon counts its clients from 1 again.
                id: "\(client.id) \(client.connectedMicroseconds)",
                cells: [
                    .identifier(client.id), .text(users[client.uid] ?? "\(client.uid)"), .identifier(client.pid),
                    .text(programs[client.pid]), .total(client.posts), .total(client.delivered), .total(dropped),
                    .bytes(client.waitingBytes), .number(dropped), .number(client.refused),
                ])
        }
    }
}
