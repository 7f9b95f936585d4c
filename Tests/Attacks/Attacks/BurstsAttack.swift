import NotifyWire

/// Connections that repeatedly send large messages, all at the same time. Each connection sends 686 kB, so the default
/// of 1,000 connections sends 686 MB.
final class BurstsAttack: Attack {
    private let connections: [Connection]
    private var block = PostBlock(names: [String](repeating: "burst", count: 10), payload: 68_600)
    private var request: UInt64 = 1

    init(_ target: Target) throws {
        connections = try target.connections(target.size)
        Connection.serve(connections) {
            connections.count(.welcome) + connections.count(where: { !$0.isOpen }) == connections.count
        }
    }

    var admitted: Int { connections.count(.welcome) }

    func step() {
        if connections.allSatisfy(\.isFlushed) {
            let bytes = Array(block.numbered(block.count, request: request))
            request += UInt64(block.count)
            for connection in connections { connection.write(shared: bytes) }
        }
        Connection.serve(connections)
    }
}
