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
    /// The numbers of requests that were refused because of the user's number of them, and of their bytes.
    private var (refusedRequests, refusedBytes) = (0, 0)

    init(_ target: Target) throws {
        servers = zip(
            try target.connections(target.size), (0..<target.size).map { HostileServer.Behaviour.allCases[$0 % 4] }
        ).map { HostileServer($0, $1) }
        askers = try target.connections(4)
        for server in servers { server.register(name) }
        askers[3].isReading = false
        for asker in askers {
            asker.onFrame = { [unowned self] kind, body in
                guard let error = ErrorFrame(kind: kind, body) else { return }
                if error.message.contains("(limits.per_user.requests)") { refusedRequests += 1 }
                if error.message.contains("(limits.per_user.request_bytes)") { refusedBytes += 1 }
            }
        }
        askBeyondLimits(askers[0], 1_100, payload: [])
        askBeyondLimits(askers[2], 300, payload: Self.largePayload)
    }

    /// Asks more than the user may, while no server responds, and cancels the requests.
    private func askBeyondLimits(_ asker: Connection, _ count: Int, payload: [UInt8]) {
        let first = asker.newRequests(count)
        let requests = first..<first + UInt64(count)
        let answered = asker.scanner.count(.error)
        for request in requests { asker.write(askFrame(request, name, payload: payload, timeout: .seconds(3600))) }
        for request in requests { asker.write(CancelAsk(request: request)) }
        asker.flush()
        Connection.serve([asker]) { asker.scanner.count(.error) - answered == count }
    }

    var admitted: Int { servers.map(\.connection).count(.serving) }

    var figures: [String: Int] {
        [
            "asked": asked, "calls": servers.map(\.connection).count(.serviceCall),
            "refusedRequests": refusedRequests, "refusedBytes": refusedBytes,
            "unknownCalls": servers.reduce(0) { $0 + $1.unknownCalls },
        ]
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
    /// The number of responses to calls that the server does not hold.
    private(set) var unknownCalls = 0

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
            if ErrorFrame(kind: kind, body)?.code == ErrorCode.unknownCall.rawValue { unknownCalls += 1 }
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
