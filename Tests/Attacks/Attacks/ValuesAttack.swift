import Glibc
import NotifyWire
import WireTestSupport

/// Connections of one user that abuse values, in turn: some keep setting values of nearly 1 MiB until the user's share
/// is full, and beyond; some set values under ever new names; some watch values and do not read the first pages; some
/// clear values by patterns without end; and some set, clear, announce, read, serve and ask for names of another user.
final class ValuesAttack: Attack {
    /// The user's shares, which are small, so that the attack uses them up at once.
    static let values = 500
    static let valueBytes = 3 << 20

    private let clients: [HostileValueClient]

    init(_ target: Target) throws {
        let connections = try target.connections(target.size)
        Connection.serve(connections) {
            connections.count(.welcome) + connections.count(where: { !$0.isOpen }) == connections.count
        }
        clients = connections.enumerated().map { HostileValueClient($1, number: $0) }
        // The names of large values are set first, because the flood of names uses up the share of values.
        clients.first?.setLargeNames()
    }

    private var connections: [Connection] { clients.map(\.connection) }

    var admitted: Int { connections.count(.welcome) }

    var figures: [String: Int] {
        [
            "set": connections.count(.receipt), "cleared": connections.count(.valuesCleared),
            "refusedValues": clients.reduce(0) { $0 + $1.refusedValues },
            "refusedBytes": clients.reduce(0) { $0 + $1.refusedBytes },
            "forbidden": clients.reduce(0) { $0 + $1.forbidden },
            "permitted": clients.reduce(0) { $0 + $1.permitted },
        ]
    }

    func step() {
        for client in clients { client.step() }
        Connection.serve(connections)
    }
}

private final class HostileValueClient {
    private enum Behaviour: CaseIterable {
        case large, flooding, stopped, clearing, trespassing
    }

    private static let largePayload = [UInt8](repeating: 7, count: (1 << 20) - 1024)
    /// More than the share holds.
    private static let largeValues = 64
    private static let requestsPerStep = 16
    /// The maximum number of unanswered requests to clear values.
    private static let clears = 16

    let connection: Connection
    /// The numbers of requests that were refused because of the user's number of values, and of their bytes.
    private(set) var refusedValues = 0
    private(set) var refusedBytes = 0
    /// The number of requests about names of another user that were refused, and of those with any other answer.
    private(set) var forbidden = 0
    private(set) var permitted = 0
    private let behaviour: Behaviour
    private let number: Int
    private var count = 0

    init(_ connection: Connection, number: Int) {
        self.connection = connection
        self.number = number
        behaviour = Behaviour.allCases[number % Behaviour.allCases.count]
        connection.onFrame = { [unowned self] kind, body in
            let error = ErrorFrame(kind: kind, body)
            if let error { refused(error) }
            if behaviour == .trespassing, error?.code != ErrorCode.forbidden.rawValue { permitted += 1 }
        }
        if behaviour == .stopped { connection.isReading = false }
    }

    private func refused(_ error: ErrorFrame) {
        if error.code == ErrorCode.forbidden.rawValue { forbidden += 1 }
        if error.message.contains("(limits.per_user.values)") { refusedValues += 1 }
        if error.message.contains("(limits.per_user.value_bytes)") { refusedBytes += 1 }
    }

    /// Sets small values under the names of the large ones, and waits for the receipts.
    func setLargeNames() {
        for index in 0..<Self.largeValues {
            connection.write(setValueFrame(connection.newRequest(), "values.large.\(index)"))
        }
        connection.flush()
        Connection.serve([connection]) {
            connection.scanner.count(.receipt) + connection.scanner.count(.error) >= Self.largeValues
        }
    }

    /// Sends further requests, if the connection has sent all earlier ones.
    func step() {
        guard connection.isFlushed else { return connection.flush() }
        switch behaviour {
        case .large:
            connection.write(
                setValueFrame(
                    connection.newRequest(), "values.large.\(next(of: Self.largeValues))", payload: Self.largePayload))
        case .flooding:
            for _ in 0..<Self.requestsPerStep {
                connection.write(setValueFrame(connection.newRequest(), "values.n\(number).n\(next(of: .max))"))
            }
        case .stopped:
            for _ in 0..<Self.requestsPerStep {
                connection.write(ReadValues(request: connection.newRequest(), patterns: ["values.>"]))
            }
        case .clearing:
            let answered = connection.scanner.count(.valuesCleared) + connection.scanner.count(.error)
            guard count - answered < Self.clears else { return }
            count += 1
            // Leaves most of the values, so that the share stays full.
            connection.write(
                ClearValues(request: connection.newRequest(), object: nil, patterns: ["values.large.0", "*.n1.>"]))
        case .trespassing: trespass()
        }
        connection.flush()
    }

    /// Sends one request of each kind about names of root.
    private func trespass() {
        let name = "user.0.n\(next(of: 1_000))"
        connection.write(setValueFrame(connection.newRequest(), name))
        connection.write(announceFrame(connection.newRequest(), name))
        connection.write(ClearValues(request: connection.newRequest(), object: nil, patterns: [name]))
        connection.write(ReadValues(request: connection.newRequest(), patterns: [name]))
        connection.write(Serve(request: connection.newRequest(), server: 1, concurrency: 1, patterns: [name]))
        connection.write(askFrame(connection.newRequest(), name, timeout: .seconds(1)))
    }

    private func next(of end: Int) -> Int {
        count += 1
        return count % end
    }
}
