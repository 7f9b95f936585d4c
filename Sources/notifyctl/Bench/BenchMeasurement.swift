/// What one client, or several together, have measured.
struct BenchMeasurement: Sendable {
    /// The latency of each message. Their number is that of the messages.
    var latencies = Histogram()
    /// The number of messages that the daemon dropped because their receiver was too slow.
    var dropped: UInt64 = 0
    /// The time of the last message.
    var end: UInt64 = 0

    mutating func add(_ other: BenchMeasurement) {
        latencies.add(other.latencies)
        dropped += other.dropped
        end = max(end, other.end)
    }

    /// Runs tasks concurrently and adds up what they measure. The first error cancels the other tasks.
    static func total(of tasks: [@Sendable () async throws -> BenchMeasurement]) async throws -> BenchMeasurement {
        try await withThrowingTaskGroup(of: BenchMeasurement.self) { group in
            for task in tasks { group.addTask { try await task() } }
            var total = BenchMeasurement()
            for try await measurement in group { total.add(measurement) }
            return total
        }
    }
}
