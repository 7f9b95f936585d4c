import ArgumentParser

struct PolicyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "policy",
        abstract: "Ask who may do what.",
        discussion: """
            EXAMPLES
              notifyctl policy test --user alice subscribe hr.pay
            """,
        subcommands: [PolicyTestCommand.self])
}
