import NotifyWire
import WireTestSupport

/// Very many connections whose client shuts down its direction, thousands at once. Then connections with sockets full
/// of requests do the same; the daemon reads these connections to the end.
final class HalfCloseAttack: Attack {
    private static let endedAtOnce = 5_000
    private static let fullSockets = 2_000
    /// The number of requests per connection: more than a socket holds, so that the daemon waits for room for the
    /// answers.
    private static let requests: UInt64 = 25_000

    private let target: Target
    private let pings = (1...requests).flatMap { Ping(request: $0).encoded }
    private var connections: [Connection]
    let admitted: Int

    init(_ target: Target) throws {
        self.target = target
        connections = try target.subscribers(to: "half.>")
        admitted = connections.count(.subscribed)
    }

    func step() {
        while !connections.isEmpty {
            end(Array(connections.suffix(Self.endedAtOnce)))
            connections.removeLast(min(Self.endedAtOnce, connections.count))
        }
        if let full = try? target.connections(Self.fullSockets) { fill(full) }
        if let opened = try? target.subscribers(to: "half.>") { connections = opened }
    }

    /// Shuts down the connections at once, and waits until the daemon has closed them.
    private func end(_ ended: [Connection]) {
        for connection in ended { connection.shutDown() }
        Connection.serve(ended, within: .seconds(10)) { !ended.contains(where: \.isOpen) }
    }

    /// Fills the sockets, shuts down the connections at once, and closes them once the daemon has answered a ping on
    /// another connection.
    private func fill(_ full: [Connection]) {
        for connection in full { connection.write(shared: pings) }
        // The daemon reads some of the requests before it pauses a connection.
        for _ in 0..<3 {
            for connection in full { connection.flush() }
        }
        for connection in full { connection.shutDown() }
        try? Connection(target.socket).awaitPong()
    }
}
