import Glibc

/// The seeds of random runs.
enum Seeds {
    /// The first new seed. Set `SIMULATION_SEED` to repeat a run.
    static let first = number("SIMULATION_SEED") ?? .random(in: 0...UInt64(UInt32.max))

    /// The number of new seeds. Set `SIMULATION_SEEDS` for longer searches.
    static func count(_ standard: UInt64) -> UInt64 { number("SIMULATION_SEEDS") ?? standard }

    /// New seeds. Prints the first one.
    static func new(_ standardCount: UInt64, for test: String) -> [UInt64] {
        print("\(test): seeds from \(first)")
        return (0..<count(standardCount)).map { first + $0 }
    }

    private static func number(_ variable: String) -> UInt64? {
        getenv(variable).flatMap { UInt64(String(cString: $0)) }
    }
}
