import TestSupport

/// Several attacks at once by two users, while the innocents, a third user, post at a twentieth of the daemon's
/// capacity.
struct Mixture {
    /// The share of the daemon's capacity at which the innocents post.
    ///
    /// The innocents are promised their fair share of the work, which is a third, because two other users compete. The
    /// daemon also flushes outboxes and reads the log, which takes up to two thirds of the time in a mixture. A message
    /// costs two to three times as much as when the capacity was measured, because fewer messages arrive at a time. So
    /// the innocents can get about a tenth of the capacity, and less on a machine with slow system calls.
    private static let share = 0.05

    let title: String
    let attackers: [AttackRun.Attacker]
    /// Whether the disk hangs for the last third of the time.
    let hangsDisk: Bool

    /// All attacks that are mixed, distributed over two users.
    static let allAttacks = Mixture(
        title: "all attacks together",
        attackers: AttackKind.mixed.enumerated().map { index, kind in
            .init(kind: kind, user: index % 2 == 0 ? .attacker : .accomplice, size: kind.size)
        })

    private init(title: String, attackers: [AttackRun.Attacker]) {
        self.title = title
        hangsDisk = true
        self.attackers = attackers
    }

    /// Creates a random mixture of one to six attacks. Equal seeds create equal mixtures.
    init(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        attackers = (0..<Int.random(in: 1...6, using: &generator)).map { _ in
            let kind = AttackKind.mixed.randomElement(using: &generator) ?? .names
            return .init(
                kind: kind, user: generator.chance(50) ? .attacker : .accomplice,
                size: max(1, kind.size * Int.random(in: 10...150, using: &generator) / 100), seed: generator.next())
        }
        hangsDisk = generator.chance(25)
        let names = attackers.map { "\($0.kind.rawValue) \($0.size)" }.joined(separator: ", ")
        title = "mixture \(seed): \(names)\(hangsDisk ? ", the disk hangs" : "")"
    }

    func run(_ program: DaemonProgram, seconds: Int) -> Outcome {
        do {
            let measurement = try AttackRun(program, share: Self.share, canHang: hangsDisk).measure(
                attackers, for: .seconds(seconds), hangingAfter: hangsDisk ? .seconds(seconds * 2 / 3) : nil)
            return Outcome(
                title: title, measurement: measurement,
                broken: Row.Limits.always(measurement) + Row.Limits.rate(measurement))
        } catch {
            return Outcome(title: title, measurement: nil, broken: ["\(error)"])
        }
    }
}
