/// The measurements of one client, or of several clients together.
struct BenchMeasurement: Sendable {
    /// One latency for each message.
    var latencies = Histogram()
    /// The number of messages that the daemon dropped because their receiver was too slow.
    var dropped: UInt64 = 0
    /// The time at which the last receipt or message arrived, in nanoseconds.
    var end: UInt64 = 0

    mutating func add(_ other: BenchMeasurement) {
        latencies.add(other.latencies)
        dropped += other.dropped
        end = max(end, other.end)
    }

    /// Runs tasks concurrently, and adds up their measurements. The first error cancels the other tasks.
    static func total(of tasks: [@Sendable () async throws -> BenchMeasurement]) async throws -> BenchMeasurement {
        try await withThrowingTaskGroup(of: BenchMeasurement.self) { group in
            for task in tasks { group.addTask { try await task() } }
            var total = BenchMeasurement()
            for try await measurement in group { total.add(measurement) }
            return total
        }
    }
}
