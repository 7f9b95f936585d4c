import NotifyWire
import WireTestSupport

/// Many connections that each send 200 kB of small requests at once and read the answers.
final class RequestsAttack: Attack {
    private static let bytes = 200_000
    private static let unknownKind: UInt8 = 0x3F

    private let connections: [Connection]
    private let requests: [[UInt8]]

    init(_ target: Target) throws {
        connections = try target.connections(target.size)
        requests = [
            Batch.of(StatisticsRequest(request: 1), bytes: Self.bytes),
            Batch.of(rawFrame(Self.unknownKind), bytes: Self.bytes), Batch.of(Ping(request: 1), bytes: Self.bytes),
        ]
        Connection.serve(connections) {
            connections.count(.welcome) + connections.count(where: { !$0.isOpen }) == connections.count
        }
    }

    var admitted: Int { connections.count(.welcome) }

    func step() {
        for (index, connection) in connections.enumerated() where connection.isFlushed {
            connection.write(shared: requests[index % requests.count])
        }
        // Flushes only after all writes, so that the daemon receives the requests in one turn of its event loop.
        for connection in connections { connection.flush() }
        Connection.serve(connections)
    }
}
