import ArgumentParser
import Glibc
import NotifyClient

struct DeadPurgeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "purge",
        abstract: "Delete dead letters.",
        discussion: """
            Without --id, deletes all dead letters of the durable subscription, or of all durable subscriptions, and asks \
            before it does so; without a terminal, --yes is required.

            EXAMPLES
              notifyctl dead purge billing --id 4711
              notifyctl dead purge billing --yes
            """)

    @OptionGroup var connection: ConnectionOptions
    @OptionGroup var letters: DeadLetterOptions

    @Flag(name: .shortAndLong, help: "Do not ask.")
    var yes = false

    func validate() throws {
        guard yes || letters.selected != nil || isatty(STDIN_FILENO) == 1 else {
            throw ValidationError("standard input is not a terminal to ask on; give --yes to delete without asking")
        }
    }

    func run() async throws {
        let selected = letters.selected
        guard yes || selected != nil || Self.isConfirmed(letters.durable) else {
            throw CommandFailure(.failure, "nothing was deleted")
        }
        let result = try await withNotifyClient(configuration: connection.configuration()) { [letters] client in
            try await client.purgeDeadLetters(of: letters.durable, sequences: selected, uid: letters.uid)
        }
        try DeadLetterText.report("deleted", result, of: selected)
    }

    /// Asks on the terminal.
    private static func isConfirmed(_ durable: String?) -> Bool {
        let letters = durable.map { "the dead letters of '\(Table.printable($0))'" } ?? "all your dead letters"
        StandardError.write("Delete \(letters)? Answer 'yes' to delete them.")
        return readLine() == "yes"
    }
}
