import ArgumentParser

struct PolicyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "policy",
        abstract: "Test the rights of users.",
        discussion: """
            EXAMPLES
              notifyctl policy test --user alice subscribe hr.pay
            """,
        subcommands: [PolicyTestCommand.self])
}
