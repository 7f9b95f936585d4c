import NotifyWire

/// Requests the daemon's statistics every 100 ms, and records the peak of the charged memory together with the daemon's
/// resident memory at that moment.
final class LedgerProbe {
    private static let interval = Duration.milliseconds(100)

    let connection: Connection
    private let daemon: DaemonUnderAttack
    private var asked = ContinuousClock.now
    private var isWaiting = false
    /// The latest counters.
    private(set) var counters: [String: UInt64] = [:]
    /// The maximum of the charged bytes, without the bytes in sockets; nil if the daemon has not reported
    /// `memory_bytes`.
    private(set) var peakCharged: Int?
    /// Resident memory in bytes at the time of ``peakCharged``.
    private(set) var residentAtPeak = 0

    /// The answer to the latest request for limits.
    private var resources: [String: UInt64]?

    init(_ daemon: DaemonUnderAttack) throws {
        self.daemon = daemon
        connection = try Connection(daemon.socket)
        connection.onFrame = { [unowned self] kind, body in
            if kind == FrameKind.statisticsReport.rawValue { received(body) }
        }
    }

    func step() {
        guard !isWaiting, ContinuousClock.now - asked >= Self.interval else { return }
        asked = .now
        isWaiting = true
        connection.write(StatisticsRequest(request: connection.newRequest()))
        connection.flush()
    }

    private func received(_ body: UnsafeRawBufferPointer) {
        isWaiting = false
        var cursor = FieldReader(body)
        guard let report = try? StatisticsReport(flags: 0, reading: &cursor) else { return }
        let figures = Dictionary(report.counters.map { ($0.name, $0.value) }) { $1 }
        // Only the report of limits has this key.
        guard figures["connections.limit"] == nil else { return resources = figures }
        counters = figures
        // The memory of sockets is not part of the resident memory, because it belongs to the kernel.
        let inSockets = Int(counters["socket_bytes"] ?? 0)
        guard let charged = counters["memory_bytes"].map({ Int($0) - inSockets }), charged > peakCharged ?? -1 else {
            return
        }
        peakCharged = charged
        residentAtPeak = daemon.residentBytes
    }

    /// Waits until the counter has the value.
    ///
    /// - Returns: False if the time limit passed or the connection closed before the counter had the value.
    func wait(for counter: String, toBe value: UInt64, within limit: Duration = .seconds(20)) -> Bool {
        let deadline = ContinuousClock.now + limit
        while counters[counter] != value {
            guard ContinuousClock.now < deadline, connection.isOpen else { return false }
            step()
            Connection.serve([connection])
        }
        return true
    }

    /// Waits until the users of the attacks have no charges except for durable subscriptions, stored messages, their
    /// names, and values. The connections of these users must be closed.
    ///
    /// - Returns: The charges left after `limit`, each as "user.<uid>.<resource> <amount>".
    func leftovers(within limit: Duration = .seconds(20)) -> [String] {
        let deadline = ContinuousClock.now + limit
        while true {
            resources = nil
            connection.write(LimitsRequest(request: connection.newRequest()))
            connection.flush()
            Connection.serve([connection], within: limit) { resources != nil }
            guard let resources else { return ["no report of limits"] }
            let left = User.allCases.flatMap { Self.leftovers(of: $0, in: resources) }
            if left.isEmpty || ContinuousClock.now >= deadline { return left }
        }
    }

    private static func leftovers(of user: User, in resources: [String: UInt64]) -> [String] {
        let prefix = "user.\(user.rawValue)."
        var kept: Set = [
            "memory_bytes", "durable_subscriptions", "durable_bytes", "name_bytes", "stored_messages", "stored_bytes",
            "failed_bytes", "values", "value_bytes",
        ]
        if resources[prefix + "durable_subscriptions"] ?? 0 > 0 { kept.insert("subscription_bytes") }
        return resources.filter { name, amount in
            amount > 0 && name.hasPrefix(prefix) && !name.hasSuffix(".limit")
                && !kept.contains(String(name.dropFirst(prefix.count)))
        }.map { "\($0) \($1)" }.sorted()
    }
}
