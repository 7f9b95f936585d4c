import NotifyWire
import WireTestSupport

/// Connections of one user that abuse reads of values, and the ends of announced ones, in rounds. In each round:
///
/// 1. They request more pages of values than they may, and do not read them. Half of the requests match everything,
///    and half compare every value and match nothing. They also end reads that the daemon does not know.
/// 2. They announce as many values as they may, and close all connections at once.
final class ReadsAttack: Attack {
    /// The stored values that are read.
    private static let values = 4_000
    /// The maximum number of unanswered requests of a connection, and of the values that it announces.
    private static let limit = 4_096
    /// The requests beyond a limit, on each connection.
    private static let excess = 16
    /// The ended reads of each connection that the daemon does not know.
    private static let unknownReads = 4_096
    /// The number of them that follow the requests in the first round, and follow all in later ones. Each is compared
    /// with every unanswered request of its connection, which takes minutes in a debug build.
    private static let lateReads = 256
    /// The connections that announce values and end.
    private static let announcers = 8
    /// The time for which the connections do not read.
    private static let stopTime = Duration.seconds(1)
    /// The maximum time of the first round.
    private static let firstRound = Duration.seconds(150)

    private enum Phase {
        case sending, stopped(until: ContinuousClock.Instant), reading, announcing, ending
    }

    private let target: Target
    /// The connection that sets the values, and finds out when the announced ones have ended.
    private let observer: Connection
    private var readers: [ValueReader] = []
    private var announcers: [Connection] = []
    private var phase = Phase.sending
    /// Whether the observer waits for a page. The page contains announced values if `areLeft`.
    private var (isObserving, areLeft) = (false, true)
    private var rounds = 0
    /// The values that were announced in this round.
    private var announced = 0
    /// The most requests of a round that were unanswered after all were processed, and the ended reads and values of all rounds.
    private var (unanswered, endedReads, endedValues) = (0, 0, 0)
    /// The requests for pages, and the announcements, that were refused because of the limit.
    private var (refusedReads, refusedAnnouncements) = (0, 0)
    private(set) var admitted = 0

    init(_ target: Target) throws {
        self.target = target
        observer = try Connection(target.socket)
        setValues()
        observer.onFrame = { [unowned self] kind, body in
            guard kind == FrameKind.valuePage.rawValue else { return }
            var reader = FieldReader(body)
            let page = try? ValuePage(flags: 0, reading: &reader)
            isObserving = false
            areLeft = page?.count != 0 || page?.isEnd == false
        }
        try beginReading()
        // The attack reaches its numbers in the first round, however slow the daemon is.
        let deadline = ContinuousClock.now + Self.firstRound
        while rounds == 0, ContinuousClock.now < deadline { step() }
    }

    var figures: [String: Int] {
        [
            "rounds": rounds, "unanswered": unanswered, "refusedReads": refusedReads, "endedReads": endedReads,
            "endedValues": endedValues, "refusedAnnouncements": refusedAnnouncements,
        ]
    }

    private func setValues() {
        let payload = [UInt8](repeating: 7, count: 64)
        for index in 0..<Self.values {
            observer.write(setValueFrame(observer.newRequest(), "reads.stored.n\(index)", payload: payload))
        }
        observer.flush()
        Connection.serve([observer]) {
            observer.scanner.count(.receipt) + observer.scanner.count(.error) == Self.values
        }
    }

    func step() {
        Connection.serve([observer] + readers.map(\.connection) + announcers)
        switch phase {
        case .sending:
            if readers.allSatisfy(\.connection.isFlushed) { phase = .stopped(until: .now + Self.stopTime) }
        case .stopped(let end):
            guard ContinuousClock.now >= end else { return }
            for reader in readers { reader.connection.isReading = true }
            phase = .reading
        case .reading:
            if readers.allSatisfy(\.isDone) { endReading() }
        case .announcing:
            if announcers.allSatisfy({ $0.scanner.count(.pong) == 1 || !$0.isOpen }) { endAnnouncements() }
        case .ending: observe()
        }
    }

    // MARK: Reading

    private func beginReading() throws {
        readers = try target.connections(target.size).enumerated().map { ValueReader($1, number: $0) }
        let late = rounds == 0 ? Self.lateReads : Self.unknownReads
        for reader in readers {
            reader.endReads(Self.unknownReads - late)
            reader.request(Self.limit + Self.excess)
            reader.endReads(late)
            reader.ping()
        }
        phase = .sending
    }

    private func endReading() {
        admitted = max(admitted, readers.map(\.connection).count(.welcome))
        unanswered = max(unanswered, readers.reduce(0) { $0 + $1.unanswered })
        refusedReads += readers.reduce(0) { $0 + $1.refused }
        endedReads += readers.count(where: \.isAnswered) * Self.unknownReads
        readers = []
        guard let connections = try? target.connections(Self.announcers) else { return }
        for (number, connection) in connections.enumerated() { announce(on: connection, number) }
        announcers = connections
        phase = .announcing
    }

    // MARK: Announcing

    private func announce(on connection: Connection, _ number: Int) {
        connection.onFrame = { [unowned self] kind, body in
            guard let error = ErrorFrame(kind: kind, body) else { return }
            if error.message.contains("(limits.per_connection.subscriptions)") { refusedAnnouncements += 1 }
        }
        for index in 0..<Self.limit + Self.excess {
            connection.write(
                announceFrame(
                    connection.newRequest(), "reads.announced.r\(rounds).c\(number).n\(index)", will: ([], [1])))
        }
        connection.write(Ping(request: connection.newRequest()))
        connection.flush()
    }

    private func endAnnouncements() {
        announced = announcers.count(.announced)
        announcers = []
        areLeft = true
        phase = .ending
    }

    /// Asks for the announced values until there are none, which ends the round.
    private func observe() {
        guard areLeft else {
            endedValues += announced
            rounds += 1
            do { try beginReading() } catch { readers = [] }
            return
        }
        guard !isObserving else { return }
        isObserving = true
        observer.write(
            ReadValues(
                request: observer.newRequest(), .keys(after: ReadValues.lastStoredKey, through: .max),
                maximumMessages: 1, patterns: ["reads.announced.>"]))
        observer.flush()
    }
}

/// A connection that requests pages of values and does not read them at first.
private final class ValueReader {
    let connection: Connection
    private let pattern: String
    private var requested = 0
    /// The numbers of requests that were refused because of the limit, and of those that were answered before the ping.
    private(set) var (refused, answered) = (0, 0)
    /// Whether the ping was answered, and so everything before it was processed.
    private(set) var isAnswered = false

    init(_ connection: Connection, number: Int) {
        self.connection = connection
        pattern = number.isMultiple(of: 2) ? "reads.stored.*" : "reads.stored.*.none"
        connection.isReading = false
        connection.onFrame = { [unowned self] kind, body in received(kind, body) }
    }

    var isDone: Bool { isAnswered || !connection.isOpen }

    /// The number of requests that were not answered yet when the daemon processed the ping.
    var unanswered: Int { isAnswered ? requested - answered - refused : 0 }

    func request(_ count: Int) {
        requested += count
        for _ in 0..<count { connection.write(ReadValues(request: connection.newRequest(), patterns: [pattern])) }
    }

    func endReads(_ count: Int) {
        for number in 0..<UInt64(count) { connection.write(EndRead(request: .max - number)) }
    }

    func ping() {
        connection.write(Ping(request: connection.newRequest()))
        connection.flush()
    }

    private func received(_ kind: UInt8, _ body: UnsafeRawBufferPointer) {
        guard !isAnswered else { return }
        switch FrameKind(rawValue: kind) {
        case .pong: isAnswered = true
        case .valuePage: answered += 1
        default:
            let error = ErrorFrame(kind: kind, body)
            if error?.message.contains("(limits.per_connection.subscriptions)") == true { refused += 1 }
        }
    }
}
