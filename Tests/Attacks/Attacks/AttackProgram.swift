import ArgumentParser
import Glibc

/// The process of one attack: it prints "ready" once it is set up, begins upon "go", and goes on until "stop".
struct AttackProgram: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "attack", shouldDisplay: false)

    @Option var socket: String
    @Option var user: UInt32
    @Option var size: Int
    @Option var seed: UInt64
    @Argument var kind: String

    func run() throws {
        guard let kind = AttackKind(rawValue: kind) else { throw HarnessError("there is no attack \(kind)") }
        Descriptors.raiseLimit()
        // Many attackers would otherwise leave the daemon no processor, which is the kernel's to prevent.
        setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, 15)
        try User(rawValue: user)?.become()
        var orders = Orders()
        // One that the daemon does not let in has failed, as it should.
        let attack: (any Attack)?
        do {
            attack = try kind.begin(Target(socket: socket, size: size, seed: seed))
        } catch let error as SystemError {
            Output.say("refused \(error)")
            attack = nil
        }
        Output.say("ready")
        orders.wait(for: "go")
        while !orders.contains("stop") {
            if let attack { attack.step() } else { orders.wait(for: "stop") }
        }
        let figures = attack?.figures ?? ["refused": 1]
        Output.say("attack " + figures.map { "\($0)=\($1)" }.sorted().joined(separator: " "))
    }
}
