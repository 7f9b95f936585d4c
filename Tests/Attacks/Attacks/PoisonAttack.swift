import Glibc
import NotifyWire

/// Jobs that cannot be processed. Two users post jobs, each as many as its share of the log permits. The worker of a
/// third user fails the jobs until its share for failed jobs is used up, and then posts messages of its own.
final class PoisonAttack: Attack {
    /// The share of each user: the limit of its stored messages, and also of the messages that its worker has failed.
    static let storedBytes = 1 << 20
    /// The number of jobs that use up the share.
    static let jobsOfShare = storedBytes / jobBytes + 1
    /// The most bytes that the worker's failed jobs may take: the worker's share, 1 MiB of copies that wait for room,
    /// and the jobs that were in flight when the share was used up.
    static let maximumFailedBytes = storedBytes + (1 << 20) + window * jobBytes
    fileprivate static let window = 8
    static let posters = [User.attacker, .accomplice]
    static let worker = User.innocent
    fileprivate static let jobBytes = 45_000
    fileprivate static let name = "poison.jobs"

    private let role: any PoisonRole

    init(_ target: Target) throws {
        let connection = try Connection(target.socket)
        role =
            getuid() == Self.worker.rawValue
            ? PoisonedWorker(connection)
            : PoisonPoster(connection, jobs: target.size / Self.posters.count)
    }

    /// The number of jobs that the worker has failed.
    var admitted: Int { role.failed }
    var figures: [String: Int] { role.figures }

    func step() {
        role.step()
        role.connection.flush()
        Connection.serve([role.connection])
    }
}

private protocol PoisonRole: AnyObject {
    var connection: Connection { get }
    var failed: Int { get }
    var figures: [String: Int] { get }
    func step()
}

/// Posts jobs, and continues when the daemon refuses them.
private final class PoisonPoster: PoisonRole {
    let connection: Connection
    private var block: PostBlock

    init(_ connection: Connection, jobs: Int) {
        self.connection = connection
        block = PostBlock(
            names: [String](repeating: PoisonAttack.name, count: jobs), payload: PoisonAttack.jobBytes,
            durability: .stored, receipt: true)
    }

    var failed: Int { 0 }
    var figures: [String: Int] { ["posterRefusals": connection.scanner.count(.error)] }

    func step() {
        if connection.isFlushed { block.write(to: connection) }
    }
}

/// Rejects every job as a dead letter. Once its user's share for failed jobs is used up, it posts messages within the
/// limit of this user.
private final class PoisonedWorker: PoisonRole {
    private static let posts = 2_000
    private static let payload = 100

    let connection: Connection
    private(set) var failed = 0
    private var received: [UInt64] = []
    private var block = PostBlock(names: ["poison.own"], payload: payload, durability: .stored, receipt: true)
    private var posted = 0
    private var isAsking = false
    private var failedBytes = 0

    init(_ connection: Connection) {
        self.connection = connection
        connection.write(
            Subscribe(
                request: connection.newRequest(), subscription: 1, patterns: [PoisonAttack.name],
                durableName: "poisoned", window: UInt32(PoisonAttack.window), sharing: .group))
        Connection.serve([connection]) { connection.scanner.count(.subscribed) == 1 }
        connection.onFrame = { [unowned self] kind, body in read(kind, body) }
    }

    /// The results of the worker. The errors are answers to its posts.
    var figures: [String: Int] {
        [
            "posted": posted, "receipts": connection.scanner.count(.receipt),
            "refusals": connection.scanner.count(.error), "failedBytes": failedBytes,
        ]
    }

    private func read(_ kind: UInt8, _ body: UnsafeRawBufferPointer) {
        if kind == FrameKind.deliver.rawValue, let sequence = (try? Delivery(reading: body))?.stamp.sequence {
            received.append(sequence)
        } else if kind == FrameKind.statisticsReport.rawValue {
            var reader = FieldReader(body)
            let counters = (try? StatisticsReport(flags: 0, reading: &reader))?.counters ?? []
            let name = "user.\(PoisonAttack.worker.rawValue).failed_bytes"
            isAsking = false
            failedBytes = max(failedBytes, counters.first { $0.name == name }.map { Int($0.value) } ?? 0)
        }
    }

    func step() {
        for sequence in received {
            connection.write(Reject(subscription: 1, sequence: sequence, outcome: .dead, reason: "poison"))
        }
        failed += received.count
        received = []
        if failedBytes >= PoisonAttack.storedBytes, posted < Self.posts, connection.isFlushed {
            block.write(to: connection)
            posted += 1
        }
        if !isAsking {
            isAsking = true
            connection.write(LimitsRequest(request: connection.newRequest()))
        }
    }
}
