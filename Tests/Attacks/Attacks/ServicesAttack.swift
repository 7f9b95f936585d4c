import Glibc
import NotifyWire
import WireTestSupport

/// Servers and askers of one user that abuse requests. Each server connection has one of four behaviours, in turn: it
/// never responds, gives every call back, responds with 100 kB, or responds to calls that it does not hold. The askers
/// ask without end: with time limits of a few milliseconds, with requests that they cancel, with payloads of 50 kB, and
/// without reading the replies.
final class ServicesAttack: Attack {
    private static let asksPerStep = 64
    private static let largePayload = [UInt8](repeating: 7, count: 50_000)

    private let servers: [HostileServer]
    private let askers: [Connection]
    private let name = "user.\(getuid()).attack"
    private var asked = 0

    init(_ target: Target) throws {
        servers = zip(
            try target.connections(target.size), (0..<target.size).map { HostileServer.Behaviour.allCases[$0 % 4] }
        ).map { HostileServer($0, $1) }
        askers = try target.connections(4)
        for server in servers { server.register(name) }
        askers[3].isReading = false
    }

    var admitted: Int { servers.map(\.connection).count(.serving) }

    var figures: [String: Int] {
        ["asked": asked, "calls": servers.map(\.connection).count(.serviceCall)]
    }

    func step() {
        for (index, asker) in askers.enumerated() where asker.isFlushed {
            for _ in 0..<Self.asksPerStep { ask(index, asker) }
            asker.flush()
        }
        for server in servers { server.respond() }
        Connection.serve(servers.map(\.connection) + askers)
    }

    private func ask(_ index: Int, _ asker: Connection) {
        let request = asker.newRequest()
        asked += 1
        switch index {
        case 0: asker.write(askFrame(request, name, timeout: .milliseconds(asked % 8 + 1)))
        case 1:
            asker.write(askFrame(request, name, timeout: .seconds(3600)))
            asker.write(CancelAsk(request: request))
        case 2: asker.write(askFrame(request, name, payload: Self.largePayload, timeout: .seconds(1)))
        default: asker.write(askFrame(request, name, timeout: .seconds(2)))
        }
    }
}

/// A server on one connection.
private final class HostileServer {
    enum Behaviour: CaseIterable {
        case silent, returning, large, confused
    }

    let connection: Connection
    private let behaviour: Behaviour
    private var received: [UInt64] = []

    init(_ connection: Connection, _ behaviour: Behaviour) {
        self.connection = connection
        self.behaviour = behaviour
    }

    /// Registers, and waits for the answer.
    func register(_ name: String) {
        connection.write(
            Serve(
                request: connection.newRequest(), server: 1, concurrency: Limits.maximumConcurrency / 4,
                patterns: [name]))
        connection.flush()
        Connection.serve([connection]) {
            connection.scanner.count(.serving) + connection.scanner.count(.error) > 0
        }
        connection.onFrame = { [unowned self] kind, body in
            if kind == FrameKind.serviceCall.rawValue {
                received.append(UInt64(littleEndian: body.loadUnaligned(as: UInt64.self)))
            }
        }
    }

    /// Responds to the received calls, if the connection has sent all earlier responses.
    func respond() {
        guard connection.isFlushed else { return connection.flush() }
        for call in received {
            switch behaviour {
            case .silent: break
            case .returning: connection.write(respondFrame(call, .returned))
            case .large: connection.write(respondFrame(call, payload: [UInt8](repeating: 1, count: 100_000)))
            case .confused: connection.write(respondFrame(call &+ 1, payload: [1]))
            }
        }
        received = []
        connection.flush()
    }
}
