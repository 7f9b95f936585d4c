import Foundation

/// One run of attacks: a daemon, the innocents and the attackers, each in its own process.
final class AttackRun {
    struct Attacker {
        var kind: AttackKind
        var user = User.attacker
        var size: Int
        var seed: UInt64 = 1
    }

    private let memory = BackedMemory()
    private let daemon: DaemonUnderAttack
    private let innocents: Child
    private let probe: LedgerProbe
    private var attackers: [Child] = []
    private var measurement = Measurement()

    /// Starts the daemon and the innocents.
    ///
    /// - Parameters:
    ///   - share: The share of the daemon's capacity at which the innocents post; 0 for as fast as possible.
    ///   - innocent: The user of the innocents.
    ///   - areValuesProbed: Whether the innocents also use values, and measure the answers.
    ///   - canHang: Whether the disk can be made to hang.
    ///   - userLimits: Limits of each user, by the names of their settings. The others have their defaults.
    init(
        _ program: DaemonProgram, share: Double = 0.1, innocent: User = .innocent,
        areValuesProbed: Bool = false, canHang: Bool = false, userLimits: [String: Int] = [:]
    ) throws {
        daemon = try DaemonUnderAttack(program, canHang: canHang, userLimits: userLimits)
        measurement.workLimit = program.workLimit
        probe = try LedgerProbe(daemon)
        innocents = try Child(
            own: [
                "innocents", "--socket", daemon.socket, "--daemon", "\(daemon.pid)", "--user", "\(innocent.rawValue)",
                "--share", "\(share)",
            ] + (areValuesProbed ? ["--values"] : []))
        try wait(for: innocents, "capacity")
    }

    deinit {
        daemon.kill()
    }

    /// Sets up all attacks and then runs them for the given time. The memory measurement begins before the set-up.
    ///
    /// - Parameters:
    ///   - isSetUpMeasured: Whether the innocents also post while the attacks are set up.
    ///   - hangingAfter: The time after which the daemon's disk writes block, until the attacks have ended. If zero,
    ///     the writes block even before the attacks are set up; if nil, they never block.
    func measure(
        _ attacks: [Attacker], for time: Duration, isSetUpMeasured: Bool = true, hangingAfter: Duration? = nil
    ) throws -> Measurement {
        daemon.resetPeak()
        measurement.residentBefore = daemon.residentBytes
        if isSetUpMeasured { innocents.send("go") }
        if hangingAfter == .zero { daemon.hang(true) }
        attackers = try attacks.map {
            try Child(own: [
                "attack", $0.kind.rawValue, "--socket", daemon.socket, "--user", "\($0.user.rawValue)", "--size",
                "\($0.size)", "--seed", "\($0.seed)",
            ])
        }
        // All attacks start together: a running attack could prevent the set-up of another attack by the same user.
        for attacker in attackers { try wait(for: attacker, "ready") }
        for attacker in attackers { attacker.send("go") }
        if !isSetUpMeasured { innocents.send("go") }
        if let hangingAfter, hangingAfter > .zero {
            run(for: hangingAfter)
            daemon.hang(true)
            run(for: time - hangingAfter)
        } else {
            run(for: time)
        }
        try finish(hangingAfter != nil, isSettling: attacks.map(\.kind) == [.storm])
        return measurement
    }

    private func finish(_ isHanging: Bool, isSettling: Bool) throws {
        innocents.send("stop")
        try wait(for: innocents, "innocents")
        measurement.innocents = innocents.fields("innocents") ?? [:]
        measurement.note = innocents.lines.first { $0.hasPrefix("refused ") }.map { ", \($0)" } ?? ""
        measurement.peak = daemon.peakBytes
        measurement.charged = probe.peakCharged
        measurement.residentWhenCharged = probe.residentAtPeak
        for attacker in attackers {
            attacker.send("stop")
            try wait(for: attacker, "attack")
            measurement.figures.merge(attacker.fields("attack") ?? [:], uniquingKeysWith: +)
            attacker.waitForExit()
        }
        innocents.waitForExit()
        if isHanging { daemon.hang(false) }
        measurement.isReleased = probe.wait(for: "connections", toBe: 1) && probe.wait(for: "subscriptions", toBe: 0)
        measurement.left = probe.leftovers()
        measurement.droppedByClients = probe.counters["dropped_by_clients"] ?? .max
        measurement.delivered = probe.counters["delivered"] ?? 0
        measurement.residentAfter = isSettling ? settledBytes() : daemon.residentBytes
        let status = daemon.stop()
        measurement.exitProblem = status == 0 ? "" : "notifyd exited with status \(status)"
    }

    /// The resident memory of the daemon, once it has fallen to at most 16 MiB above the memory before the attack; the
    /// memory after a minute if it does not fall so far.
    private func settledBytes() -> Int {
        let deadline = ContinuousClock.now + .seconds(60)
        while daemon.residentBytes - measurement.residentBefore > 16 << 20, ContinuousClock.now < deadline { step() }
        return daemon.residentBytes
    }

    // MARK: Running

    private func run(for time: Duration) {
        let deadline = ContinuousClock.now + time
        while ContinuousClock.now < deadline, daemon.isRunning { step() }
    }

    private func step() {
        probe.step()
        Connection.serve([probe.connection], waitingMilliseconds: 20)
        if !probe.connection.isOpen { usleep(20_000) }
    }

    private func wait(for child: Child, _ word: String, within limit: Duration = .seconds(180)) throws {
        let deadline = ContinuousClock.now + limit
        while true {
            // Asked before the output is read: a child may write its last line and exit at once.
            let isRunning = child.isRunning
            child.receive()
            if child.lines.contains(where: { $0 == word || $0.hasPrefix(word + " ") }) { return }
            guard daemon.isRunning else { throw HarnessError("notifyd has exited") }
            guard isRunning, ContinuousClock.now < deadline else {
                let problem = isRunning ? "timed out" : "the child has exited"
                throw HarnessError("\(problem) before '\(word)'; the last lines are \(child.lines.suffix(2))")
            }
            step()
        }
    }
}
