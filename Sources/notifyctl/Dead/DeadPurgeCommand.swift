import ArgumentParser
import Glibc
import NotifyClient

struct DeadPurgeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "purge",
        abstract: "Delete dead letters.",
        discussion: """
            Without --id, deletes all dead letters of the durable subscription, or of all your durable subscriptions \
            (with --user, of that user's), and asks before; without a terminal, --yes is required.

            EXAMPLES
              notifyctl dead purge billing --id 4711
              notifyctl dead purge billing --yes
            """)

    @OptionGroup var connection: ConnectionOptions
    @OptionGroup var letters: DeadLetterOptions

    @Flag(name: .shortAndLong, help: "Do not ask.")
    var yes = false

    func run() async throws {
        let selected = letters.selected
        if !yes, selected == nil {
            try Question.checkTerminal()
            try Question.confirm(Self.question(letters))
        }
        let result = try await withNotificationClient(configuration: connection.configuration()) { [letters] client in
            let result = try await client.administration.purgeDeadLetters(
                of: letters.durable, sequences: selected, uid: letters.uid)
            if result.messages == 0 { try await letters.checkDurable(client) }
            return result
        }
        try DeadLetterText.report("deleted", result, of: selected)
    }

    static func question(_ letters: DeadLetterOptions) -> String {
        let user = letters.uid.map { "user \(UserNames.text(of: $0))" }
        guard let durable = letters.durable else {
            return "Delete all \(user.map { "dead letters of \($0)" } ?? "your dead letters")?"
        }
        return "Delete the dead letters of '\(Table.printable(durable))'\(user.map { " of \($0)" } ?? "")?"
    }
}
