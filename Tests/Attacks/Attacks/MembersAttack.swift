import NotifyWire

/// Members of one group that process nothing. Each connection has one of four behaviours, in turn: its members reject
/// every message at once, give every message back, extend the deadlines of their messages in a loop, or let the
/// deadlines pass.
final class MembersAttack: Attack {
    private static let connectionCount = 8
    private static let messages = 20_000
    private static let postsPerWrite = 500
    private static let durable = "members"

    private let members: [HostileMembers]
    private let poster: Connection
    private var block = PostBlock(
        names: [String](repeating: "members.jobs", count: postsPerWrite), payload: 64, durability: .stored)
    private var posted = 0

    init(_ target: Target) throws {
        let connections = try target.connections(Self.connectionCount)
        poster = try Connection(target.socket)
        members = zip(connections, HostileMembers.Behaviour.allCases.cycled()).map { HostileMembers($0, $1) }
        for member in members {
            member.join(Self.durable, count: target.size / Self.connectionCount)
        }
    }

    var admitted: Int { members.map(\.connection).count(.subscribed) }

    var figures: [String: Int] {
        ["deliveries": members.map(\.connection).count(.deliver), "answers": members.reduce(0) { $0 + $1.answers }]
    }

    func step() {
        if posted < Self.messages, poster.isFlushed {
            block.write(to: poster)
            posted += Self.postsPerWrite
        }
        poster.flush()
        for member in members { member.answer() }
        Connection.serve(members.map(\.connection) + [poster])
    }
}

/// The members on one connection.
private final class HostileMembers {
    enum Behaviour: CaseIterable {
        case rejecting, givingBack, extending, stalling
    }

    /// The most messages whose deadlines are extended, and the number of extensions in one step.
    private static let maximumHeld = 2_000
    private static let extensionsPerStep = 200
    private static let deadlineMicroseconds: UInt64 = 100_000

    let connection: Connection
    private(set) var answers = 0
    private let behaviour: Behaviour
    private var received: [(subscription: UInt32, sequence: UInt64)] = []
    private var subscription: UInt32 = 0
    private var next = 0

    init(_ connection: Connection, _ behaviour: Behaviour) {
        self.connection = connection
        self.behaviour = behaviour
    }

    /// Attaches members to a group, and waits for the answers.
    func join(_ durable: String, count: Int) {
        let settings = DurableSettingChanges(
            deadlineMicroseconds: Self.deadlineMicroseconds, retryDelays: [0], maximumDeliveries: 0)
        for number in 1...UInt32(count) {
            connection.write(
                Subscribe(
                    request: connection.newRequest(), subscription: number, patterns: ["members.jobs"],
                    durableName: durable, window: 4, sharing: .group, settings: settings))
        }
        connection.flush()
        Connection.serve([connection], within: .seconds(120)) {
            connection.scanner.count(.subscribed) + connection.scanner.count(.error) >= count
        }
        connection.onFrame = { [unowned self] kind, body in read(kind, body) }
    }

    private func read(_ kind: UInt8, _ body: UnsafeRawBufferPointer) {
        if kind == FrameKind.run.rawValue || kind == FrameKind.redelivery.rawValue {
            subscription = body.loadUnaligned(as: UInt32.self).littleEndian
        } else if kind == FrameKind.deliver.rawValue, behaviour != .stalling,
            let sequence = (try? Delivery(reading: body))?.stamp.sequence
        {
            received.append((subscription, sequence))
        }
    }

    /// Answers the received messages, if the connection has sent all earlier answers.
    func answer() {
        guard connection.isFlushed else { return connection.flush() }
        switch behaviour {
        case .rejecting: rejectAll(.failed)
        case .givingBack: rejectAll(.returned)
        case .extending: extend()
        case .stalling: break
        }
        connection.flush()
    }

    private func rejectAll(_ outcome: Reject.Outcome) {
        for (subscription, sequence) in received {
            connection.write(
                Reject(
                    subscription: subscription, sequence: sequence, outcome: outcome, delayMicroseconds: 0, reason: ""))
        }
        answers += received.count
        received = []
    }

    private func extend() {
        received.removeFirst(max(0, received.count - Self.maximumHeld))
        for _ in 0..<min(received.count, Self.extensionsPerStep) {
            next = (next + 1) % received.count
            let (subscription, sequence) = received[next]
            connection.write(Extend(subscription: subscription, sequences: [sequence], microseconds: 0))
            answers += 1
        }
    }
}

extension Array {
    /// The elements, repeated without end.
    fileprivate func cycled() -> some Sequence<Element> {
        sequence(state: 0) { index in
            defer { index += 1 }
            return self[index % self.count]
        }
    }
}
