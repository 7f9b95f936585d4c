import Glibc
import Testing

/// Broker, store, sockets and clients under chance: what is promised must hold whatever happens.
struct SimulationTests {
    private static let stepsPerSeed = 600

    /// How many seeds a slow machine tries beyond that, until everything that is to be tried has happened.
    private static let enoughSeeds: UInt64 = 100
    /// How long new seeds are tried; `SIMULATION_SECONDS` for longer searches.
    private static let seconds = getenv("SIMULATION_SECONDS").flatMap { Int(String(cString: $0)) } ?? 10

    @Test func `random operations keep the broker's guarantees`() {
        let first = UInt64.random(in: 0...UInt64(UInt32.max))
        print("simulation: seeds from \(first)")
        let clock = ContinuousClock()
        let end = clock.now + .seconds(Self.seconds)
        var seed = first
        var happened = Simulation.Happened()
        repeat {
            guard holds(seed, &happened) else { return }
            seed += 1
        } while clock.now < end || (!happened.isEverything && seed - first < Self.enoughSeeds)
        print("simulation: \(seed - first) seeds: \(happened)")
        #expect(happened.isEverything, "something that is to be tried never happened: \(happened)")
    }

    /// Seeds that showed something once.
    @Test(arguments: [682_662_232, 2_820_438_955])
    func `seeds of earlier failures pass`(_ seed: UInt64) {
        var happened = Simulation.Happened()
        _ = holds(seed, &happened)
    }

    private func holds(_ seed: UInt64, _ happened: inout Simulation.Happened) -> Bool {
        let simulation = Simulation(seed: seed)
        simulation.run(steps: Self.stepsPerSeed)
        happened.add(simulation.happened)
        guard !simulation.violations.isEmpty else { return true }
        let trace = simulation.trace.suffix(60).joined(separator: "\n")
        Issue.record("seed \(seed): \(simulation.violations)\n\(trace)")
        return false
    }
}
