import NotifyWire

/// Connections that send requests and do not read the answers, beside a fast subscriber of the same user. For this
/// attack, the process of the ``Innocents`` runs as the attacking user.
final class SiblingsAttack: Attack {
    private static let bytes = 64 << 10

    private let connections: [Connection]
    private let requests = Batch.of(StatisticsRequest(request: 1), bytes: bytes)

    init(_ target: Target) throws {
        connections = try target.connections(target.size)
        Connection.serve(connections) {
            connections.count(.welcome) + connections.count(where: { !$0.isOpen }) == connections.count
        }
        for connection in connections { connection.isReading = false }
    }

    var admitted: Int { connections.count(.welcome) }

    func step() {
        for connection in connections where connection.isFlushed {
            connection.write(shared: requests)
            connection.flush()
        }
        Connection.serve(connections)
    }
}
