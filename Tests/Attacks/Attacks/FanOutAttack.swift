import NotifyWire

/// 25 connections that together have very many subscriptions to '>' and read the deliveries. The messages are posted by
/// the ``Innocents``.
final class FanOutAttack: Attack {
    static let connectionCount = 25

    private let connections: [Connection]

    init(_ target: Target) throws {
        connections = try target.connections(Self.connectionCount)
        for connection in connections { connection.subscribe(target.size / Self.connectionCount) { _ in [">"] } }
    }

    func step() {
        Connection.serve(connections)
    }

    var admitted: Int { connections.count(.subscribed) }
}
