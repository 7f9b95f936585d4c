import NotifyWire

/// Connections that fill their sockets without reading, and that the daemon ends because of a second greeting. The
/// client keeps its ends open, so the kernel keeps the bytes that the daemon has sent.
final class AbandonedAttack: Attack {
    private static let connectionsPerRound = 100
    private static let payload = 10_000
    /// The number of posts per round. Their bytes fit in the send buffers, so that the daemon can write the error that
    /// ends a connection.
    private static let postsPerRound = 10

    private let target: Target
    private let poster: Connection
    private var block = PostBlock(
        names: [String](repeating: "abandoned", count: postsPerRound), payload: payload)
    private var ended: [Connection] = []
    private(set) var admitted = 0

    init(_ target: Target) throws {
        self.target = target
        poster = try Connection(target.socket)
    }

    /// The bytes that the daemon has sent on ended connections and the kernel still keeps.
    var figures: [String: Int] { ["unreadBytes": ended.reduce(0) { $0 + $1.unreadBytes }] }

    func step() {
        // No connection can be opened when all descriptors of this process are in use.
        guard ended.count < target.size, let round = try? target.connections(Self.connectionsPerRound) else {
            return poster.awaitPong()
        }
        for connection in round {
            connection.write(Subscribe(request: connection.newRequest(), subscription: 1, patterns: ["abandoned"]))
            connection.flush()
        }
        Connection.serve(round) { round.count(.subscribed) + round.count(where: { !$0.isOpen }) == round.count }
        admitted += round.count(.subscribed)
        for connection in round { connection.isReading = false }
        block.write(to: poster)
        Connection.serve([poster]) { self.poster.isFlushed }
        poster.awaitPong()
        for connection in round {
            connection.write(Hello(instance: .random()))
            connection.flush()
        }
        poster.awaitPong()
        ended += round
    }
}
