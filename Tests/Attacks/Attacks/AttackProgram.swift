import ArgumentParser
import Glibc

/// The process of one attack: prints "ready" once it is set up, and attacks from "go" on standard input until "stop".
struct AttackProgram: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "attack", shouldDisplay: false)

    @Option var socket: String
    @Option var user: UInt32
    @Option var size: Int
    @Option var seed: UInt64
    @Argument var kind: String

    func run() throws {
        guard let kind = AttackKind(rawValue: kind) else { throw HarnessError("unknown attack \(kind)") }
        Descriptors.raiseLimit()
        // The priority is low, because the daemon can't prevent many attackers from taking all CPU time.
        setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, 15)
        try User(rawValue: user)?.switchUser()
        var commands = CommandReader()
        // If the daemon refuses the connections, the attack has failed and is reported as refused.
        let attack: (any Attack)?
        do {
            attack = try kind.begin(Target(socket: socket, size: size, seed: seed))
        } catch let error as SystemError {
            Output.write("refused \(error)")
            attack = nil
        }
        Output.write("ready")
        commands.wait(for: "go")
        while !commands.contains("stop") {
            if let attack { attack.step() } else { commands.wait(for: "stop") }
        }
        var figures = attack?.figures ?? [:]
        figures["admitted"] = attack?.admitted ?? 0
        Output.write("attack " + figures.map { "\($0)=\($1)" }.sorted().joined(separator: " "))
    }
}
