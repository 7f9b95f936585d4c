import NotifyWire
import WireTestSupport

/// Connections of one user that abuse announced values, in turn: some announce many more than a connection may; some
/// take each other's values over; some watch without reading; and some end with thousands of values that have a will.
final class AnnouncementsAttack: Attack {
    private static let ended = 4_000

    private let target: Target
    private let clients: [HostileAnnouncer]
    /// The connections that end.
    private var ending: [Connection] = []
    private var ends = 0
    let admitted: Int

    init(_ target: Target) throws {
        self.target = target
        let connections = try target.connections(target.size)
        Connection.serve(connections) {
            connections.count(.welcome) + connections.count(where: { !$0.isOpen }) == connections.count
        }
        admitted = connections.count(.welcome)
        clients = connections.enumerated().map { HostileAnnouncer($1, number: $0) }
        // The first client exceeds its limit from the beginning.
        clients.first?.announceAll()
    }

    private var connections: [Connection] { clients.map(\.connection) }

    var figures: [String: Int] {
        [
            "announced": connections.count(.announced), "refused": clients.reduce(0) { $0 + $1.refused },
            "takenOver": clients.reduce(0) { $0 + $1.takenOver }, "ends": ends,
        ]
    }

    func step() {
        for client in clients { client.step() }
        endConnections()
        Connection.serve(connections + ending)
    }

    /// Closes each connection whose values are announced, and opens another one.
    private func endConnections() {
        ending.removeAll { connection in
            let isAnnounced = connection.scanner.count(.announced) == Self.ended
            ends += isAnnounced ? 1 : 0
            return isAnnounced || !connection.isOpen
        }
        guard ending.isEmpty, let connection = try? Connection(target.socket) else { return }
        for index in 0..<Self.ended {
            connection.write(
                announceFrame(connection.newRequest(), "announced.ending.n\(ends).n\(index)", will: ([], [1])))
        }
        connection.flush()
        ending = [connection]
    }
}

private final class HostileAnnouncer {
    private enum Behaviour: CaseIterable {
        case flooding, takingOver, stopped
    }

    /// The number of names of a client that announces. A connection may announce a quarter of them.
    private static let names = 16_384
    private static let requestsPerStep = 64

    let connection: Connection
    /// The numbers of announcements that were refused because of the limit, and of values that were taken over.
    private(set) var refused = 0
    private(set) var takenOver = 0
    private let behaviour: Behaviour
    /// The beginning of the names. The clients that take values over have the same names.
    private let prefix: String
    private var count = 0

    init(_ connection: Connection, number: Int) {
        self.connection = connection
        behaviour = Behaviour.allCases[number % Behaviour.allCases.count]
        prefix = behaviour == .takingOver ? "announced.taken" : "announced.n\(number)"
        connection.onFrame = { [unowned self] kind, body in
            if let error = ErrorFrame(kind: kind, body) { failed(error) }
        }
        if behaviour == .stopped { connection.isReading = false }
    }

    private func failed(_ error: ErrorFrame) {
        if error.message.contains("(limits.per_connection.subscriptions)") { refused += 1 }
        if error.code == ErrorCode.takenOver.rawValue { takenOver += 1 }
    }

    /// Announces as many values as a connection may, and waits for the answers.
    func announceAll() {
        for _ in 0..<Self.names / 4 { announce() }
        connection.flush()
        Connection.serve([connection]) { connection.scanner.count(.announced) >= Self.names / 4 }
    }

    private func announce() {
        count += 1
        connection.write(
            announceFrame(
                connection.newRequest(), "\(prefix).n\(count % Self.names)", payload: [UInt8](repeating: 7, count: 100),
                takesOver: behaviour == .takingOver))
    }

    /// Sends further requests, if the connection has sent all earlier ones.
    func step() {
        guard connection.isFlushed else { return connection.flush() }
        for _ in 0..<Self.requestsPerStep {
            guard behaviour == .stopped else {
                announce()
                continue
            }
            let order = ReadValues.Order.changes(after: 0, announcedAfter: 0, isWaiting: false)
            connection.write(ReadValues(request: connection.newRequest(), order, patterns: ["announced.>"]))
        }
        connection.flush()
    }
}
