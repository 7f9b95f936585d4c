import Glibc
import Testing

/// Random runs of ``Simulation``. The guarantees must hold in every run.
struct SimulationTests {
    private static let stepsPerSeed = 600

    /// The number of seeds up to which the search continues until every situation has occurred.
    private static let enoughSeeds: UInt64 = 100
    /// The least number of new seeds.
    private static let seeds = Seeds.count(50)
    /// The number of lines of the trace that are printed. Set `SIMULATION_TRACE` for more.
    private static let traced = getenv("SIMULATION_TRACE").flatMap { Int(String(cString: $0)) } ?? 60

    @Test func `random operations keep the broker's guarantees`() {
        let first = Seeds.first
        print("simulation: seeds from \(first)")
        var seed = first
        var happened = Simulation.Happened()
        repeat {
            guard holds(seed, &happened) else { return }
            seed += 1
        } while seed - first < Self.seeds || (!happened.isEverything && seed - first < Self.enoughSeeds)
        print("simulation: \(seed - first) seeds: \(happened)")
        #expect(happened.isEverything, "a situation to cover did not occur: \(happened)")
    }

    /// Seeds that have found defects, from before the simulation deleted messages.
    @Test(arguments: [
        682_662_232, 2_820_438_955, 2_603_867_733, 3_639_093_403, 4_145_269_590, 357_252_244, 3_208_654_327,
        2_890_554_054,
    ])
    func `seeds of earlier failures pass`(_ seed: UInt64) {
        var happened = Simulation.Happened()
        _ = holds(seed, mayDelete: false, &happened)
    }

    /// Seeds that have found losses without a gap, losses counted twice, or errors of the model.
    @Test(arguments: [
        3_956_480_331, 584_765_446, 4_114_208_370, 2_469_751_820, 3_261_282_581, 583_399_880, 3_518_311_628,
        1_682_371_215, 2_831_490_452, 947_936_563,
    ])
    func `seeds of earlier failures with deletions pass`(_ seed: UInt64) {
        var happened = Simulation.Happened()
        _ = holds(seed, &happened)
    }

    private func holds(_ seed: UInt64, mayDelete: Bool = true, _ happened: inout Simulation.Happened) -> Bool {
        let simulation = Simulation(seed: seed, mayDelete: mayDelete)
        simulation.run(steps: Self.stepsPerSeed)
        happened.add(simulation.happened)
        guard !simulation.violations.isEmpty else { return true }
        let trace = simulation.trace.suffix(Self.traced).joined(separator: "\n")
        Issue.record("seed \(seed): \(simulation.violations)\n\(trace)")
        return false
    }
}
