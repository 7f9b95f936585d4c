import Glibc
import Testing

/// Random runs of ``RightsSimulation``. The guarantees must hold in every run.
struct RightsSimulationTests {
    private static let stepsPerSeed = 400
    /// The number of seeds up to which the search continues until every situation has occurred.
    private static let enoughSeeds: UInt64 = 60
    /// The least number of new seeds.
    private static let seeds = Seeds.count(12)
    /// The number of events that are printed. Set `SIMULATION_TRACE` for more.
    private static let traced = getenv("SIMULATION_TRACE").flatMap { Int(String(cString: $0)) } ?? 60

    /// The situations to cover.
    private static let all: Set<String> = [
        "acknowledged", "acknowledged late", "an identity was forgotten", "an identity was refused",
        "attached together", "blocked", "crashed", "dead", "dead letter", "delivered after it was withheld",
        "disconnected", "dropped with a gap", "dropped without a client", "failed", "left", "pending exactly",
        "policy changed", "retried", "returned", "skipped", "stopped", "storage failed", "taken over", "withheld",
        "withheld exactly", "withheld without a client",
    ]

    @Test func `members receive messages that they may receive, and the other messages wait`() {
        let first = Seeds.first
        print("RightsSimulationTests: seeds from \(first)")
        var seed = first
        var happened: [String: Int] = [:]
        repeat {
            guard holds(seed, &happened) else { return }
            seed += 1
        } while seed - first < Self.seeds || (!Self.all.isSubset(of: happened.keys) && seed - first < Self.enoughSeeds)
        print("RightsSimulationTests: \(seed - first) seeds: \(happened.sorted { $0.key < $1.key })")
        #expect(Self.all.isSubset(of: happened.keys), "did not occur: \(Self.all.subtracting(happened.keys))")
    }

    private func holds(_ seed: UInt64, _ happened: inout [String: Int]) -> Bool {
        let simulation = RightsSimulation(seed: seed)
        simulation.run(steps: Self.stepsPerSeed)
        happened.merge(simulation.happened) { $0 + $1 }
        guard !simulation.allViolations.isEmpty else { return true }
        let trace = simulation.trace.suffix(Self.traced).joined(separator: "\n")
        Issue.record("seed \(seed): \(simulation.allViolations)\n\(trace)")
        return false
    }
}
