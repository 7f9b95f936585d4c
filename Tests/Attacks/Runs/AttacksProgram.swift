import ArgumentParser
import Foundation

@main
struct AttacksProgram: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "Attacks",
        abstract: "Attacks a notifyd as a user of the machine could, and measures what that does to others.",
        subcommands: [
            RunCommand.self, RowCommand.self, TogetherCommand.self, AttackProgram.self, InnocentsProgram.self,
        ])
}

/// The notifyd that is attacked.
struct DaemonProgram: Sendable {
    var path: String
    var isOptimized: Bool

    /// The limit of the CPU time of the event loop before it answers a ping, in milliseconds. In a debug build, most
    /// work takes 10 to 60 times as long.
    var workLimit: Double { isOptimized ? 100 : 3000 }

    /// The outbox limit per connection in bytes. Finding the latest message of each name in an outbox is one
    /// uninterrupted piece of work, so the limit is lower for a debug build.
    var outboxBytes: Int { isOptimized ? 4 << 20 : 1 << 20 }
}

struct DaemonOptions: ParsableArguments {
    @Option(help: "The program notifyd; that beside this one by default.")
    var notifyd: String?

    @Flag(help: "It was built without optimization, so that the same work takes longer.")
    var unoptimized = false

    func validate() throws {
        guard geteuid() == 0 else {
            throw ValidationError("attacks are made by several users: run this as root")
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
        Output.say(outcome)
        return outcome.broken.isEmpty
    }
}

struct RunCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Run every row, all attacks together, and random mixtures until the time is over.")

    @Argument(help: "How long, but every row and all together are run once.") var minutes: Int
    @Option(help: "The seed of the first mixture; random by default.") var seed: UInt64?
    @Option(help: "One row alone, by name or number.") var only: String?
    @OptionGroup var daemon: DaemonOptions

    func validate() throws {
        if let only, Row.named(only) == nil {
            throw ValidationError(
                "there is no row \(only): there are \(AttackKind.allCases.map(\.rawValue).joined(separator: ", "))")
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
            isHeld = daemon.report(Mixture.everything.run(program, seconds: 120)) && isHeld
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
    static let configuration = CommandConfiguration(commandName: "row", abstract: "Run one row.")

    @Argument(help: "Its name or number.") var row: String
    @Option(help: "How long the attack runs.") var seconds = 5
    @OptionGroup var daemon: DaemonOptions

    func run() throws {
        guard let row = Row.named(row) else { throw ValidationError("there is no row \(row)") }
        if !daemon.report(row.run(try daemon.program, seconds: seconds)) { throw ExitCode.failure }
    }
}

struct TogetherCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "together", abstract: "Run all attacks at once, by two users.")

    @Option(help: "How long they run.") var seconds = 120
    @OptionGroup var daemon: DaemonOptions

    func run() throws {
        if !daemon.report(Mixture.everything.run(try daemon.program, seconds: seconds)) { throw ExitCode.failure }
    }
}
