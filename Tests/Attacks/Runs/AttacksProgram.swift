import ArgumentParser
import Foundation

@main
struct AttacksProgram: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "Attacks",
        abstract: "Attack notifyd as an ordinary user could, and measure the effect on other users.",
        subcommands: [
            RunCommand.self, RowCommand.self, TogetherCommand.self, MixtureCommand.self, AttackProgram.self,
            InnocentsProgram.self,
        ])
}

/// The notifyd that is attacked.
struct DaemonProgram: Sendable {
    var path: String
    var isOptimized: Bool

    /// The limit of the event loop's CPU time until it answers a ping, in milliseconds. In a debug build, most work
    /// takes 10 to 60 times as long.
    var workLimit: Double { isOptimized ? 100 : 3000 }

    /// The outbox limit per connection in bytes. Finding the latest message of each name in an outbox is one
    /// uninterrupted piece of work. This work is slow in a debug build, so the limit is lower there.
    var outboxBytes: Int { isOptimized ? 4 << 20 : 1 << 20 }
}

struct DaemonOptions: ParsableArguments {
    @Option(help: "The notifyd program; by default the one beside this program.")
    var notifyd: String?

    @Flag(help: "Accept a build without optimization, with higher time limits.")
    var unoptimized = false

    func validate() throws {
        guard geteuid() == 0 else {
            throw ValidationError("attacks run as several users; run this as root")
        }
    }

    var program: DaemonProgram {
        get throws { DaemonProgram(path: try path, isOptimized: !unoptimized) }
    }

    private var path: String {
        get throws {
            if let notifyd { return notifyd }
            let own = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
            return URL(filePath: own).deletingLastPathComponent().appending(path: "notifyd").path
        }
    }

    /// Prints the outcome.
    ///
    /// - Returns: Whether no limit was exceeded.
    func report(_ outcome: Outcome) -> Bool {
        Output.write(outcome)
        return outcome.broken.isEmpty
    }
}

struct RunCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: """
            Run each attack by itself (a row), then all attacks that can be mixed at the same time, then random \
            mixtures of them until the time has passed.
            """)

    @Argument(help: "The minutes until the last mixture begins. Rows and all attacks together are run in any case.")
    var minutes: Int
    @Option(help: "The seed of the first mixture; random by default.") var seed: UInt64?
    @Option(help: "Run only this row, by name or number, without a mixture.") var only: String?
    @OptionGroup var daemon: DaemonOptions

    func validate() throws {
        if let only, Row.named(only) == nil {
            throw ValidationError(
                "unknown row \(only); expected one of \(AttackKind.allCases.map(\.rawValue).joined(separator: ", "))")
        }
    }

    func run() throws {
        let deadline = ContinuousClock.now + .seconds(60 * minutes)
        let program = try daemon.program
        var isHeld = true
        for row in only.flatMap(Row.named).map({ [$0] }) ?? Row.all {
            isHeld = daemon.report(row.run(program, seconds: 5)) && isHeld
        }
        if only == nil {
            isHeld = daemon.report(Mixture.allAttacks.run(program, seconds: 120)) && isHeld
            var seed = seed ?? .random(in: 0...1_000_000_000)
            while ContinuousClock.now < deadline {
                isHeld = daemon.report(Mixture(seed: seed).run(program, seconds: 30)) && isHeld
                seed += 1
            }
        }
        if !isHeld { throw ExitCode.failure }
    }
}

struct RowCommand: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "row", abstract: "Run one attack by itself.")

    @Argument(help: "The name or number of the attack.") var row: String
    @Option(help: "How long the attack runs, in seconds.") var seconds = 5
    @OptionGroup var daemon: DaemonOptions

    func run() throws {
        guard let row = Row.named(row) else { throw ValidationError("unknown row \(row)") }
        if !daemon.report(row.run(try daemon.program, seconds: seconds)) { throw ExitCode.failure }
    }
}

struct TogetherCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "together", abstract: "Run all attacks that can be mixed at the same time, as two users.")

    @Option(help: "How long the attacks run, in seconds.") var seconds = 120
    @OptionGroup var daemon: DaemonOptions

    func run() throws {
        if !daemon.report(Mixture.allAttacks.run(try daemon.program, seconds: seconds)) { throw ExitCode.failure }
    }
}

struct MixtureCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "mixture", abstract: "Run the random mixture of a seed, as printed by 'run'.")

    @Argument(help: "Its seed.") var seed: UInt64
    @Option(help: "How long it runs.") var seconds = 30
    @OptionGroup var daemon: DaemonOptions

    func run() throws {
        if !daemon.report(Mixture(seed: seed).run(try daemon.program, seconds: seconds)) { throw ExitCode.failure }
    }
}
