import NotifyWire

/// Connections of one user with three behaviours. A third of them flood the daemon with posts of every durability.
/// Another third subscribe to everything, stop reading, and report the highest possible number of dropped messages. The
/// last third open as much as the limits of a user permit: subscriptions, durable subscriptions, and names of stored
/// messages. Meanwhile, further connections are opened.
final class FloodAttack: Attack {
    private static let postsPerWrite = 256
    /// The number of further connections to open in each step. They send their greetings and nothing else.
    private static let connectionsPerStep = 4
    private static let moreConnections = 12_000

    private let posters: [Connection]
    private let stopped: [Connection]
    private let greedy: [GreedyConnection]
    private let all: [Connection]
    private var blocks: [PostBlock]
    private var more: [Connection] = []
    private let socket: String

    init(_ target: Target) throws {
        socket = target.socket
        all = try target.connections(target.size)
        let third = target.size / 3
        stopped = Array(all.prefix(third))
        greedy = all.dropFirst(third).prefix(third).enumerated().map { GreedyConnection($1, number: $0) }
        posters = Array(all.dropFirst(2 * third))
        let names = (0..<Self.postsPerWrite).map { "flood.n\($0)" }
        blocks = Durability.allCases.map { PostBlock(names: names, payload: 1024, durability: $0, receipt: true) }
        let connections = all
        Connection.serve(connections) {
            connections.count(.welcome) + connections.count(where: { !$0.isOpen }) == connections.count
        }
        for connection in stopped {
            connection.subscribe(to: ">")
            connection.isReading = false
            connection.write(Dropped(subscription: 1, messages: .max))
            connection.flush()
        }
    }

    var admitted: Int { all.count(.welcome) }

    var figures: [String: Int] {
        let opened = Dictionary(greedy.map { ($0.want, $0.opened) }, uniquingKeysWith: +)
        return [
            "subscriptions": opened[.subscriptions] ?? 0, "durables": opened[.durables] ?? 0,
            "names": opened[.names] ?? 0, "connections": more.count, "posts": posters.count(.receipt),
        ]
    }

    func step() {
        for (number, poster) in posters.enumerated() where poster.isFlushed {
            blocks[number % blocks.count].write(to: poster)
            poster.flush()
        }
        for connection in greedy { connection.open() }
        if more.count < Self.moreConnections {
            for _ in 0..<Self.connectionsPerStep { (try? Connection(socket)).map { more.append($0) } }
        }
        Connection.serve(all)
    }
}

/// A connection that keeps requesting more of one resource.
private final class GreedyConnection {
    enum Want: CaseIterable {
        case subscriptions
        case durables
        case names
    }

    private static let requestsPerWrite = 64

    let want: Want
    private let connection: Connection
    private let number: Int
    private var count = 0

    init(_ connection: Connection, number: Int) {
        self.connection = connection
        self.number = number
        want = Want.allCases[number % Want.allCases.count]
    }

    /// The amount of the resource that the daemon has granted.
    var opened: Int { connection.scanner.count(want == .names ? .receipt : .subscribed) }

    private var answered: Int { opened + connection.scanner.count(.error) }

    /// Sends further requests once the previous ones are answered.
    func open() {
        guard connection.isFlushed, answered >= count else { return }
        switch want {
        case .subscriptions: for _ in 0..<Self.requestsPerWrite { subscribe(durable: "") }
        case .durables: for _ in 0..<Self.requestsPerWrite { subscribe(durable: "flood-\(number)-\(count)") }
        case .names:
            let names = (0..<Self.requestsPerWrite).map { "flood.name\(number).n\(count + $0)" }
            var block = PostBlock(names: names, payload: 0, durability: .stored, receipt: true)
            block.write(to: connection)
            count += Self.requestsPerWrite
        }
        connection.flush()
    }

    private func subscribe(durable: String) {
        count += 1
        connection.write(
            Subscribe(
                request: connection.newRequest(), subscription: UInt32(count),
                patterns: (0..<Limits.patternsPerSubscription).map { "*.greedy\(number).s\(count).p\($0).>" },
                durableName: durable))
    }
}
