import ArgumentParser
import NotifyClient

struct DeadListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List dead letters, oldest first.",
        discussion: """
            For each dead letter: its sequence, by which --id names it, the durable subscription, when its last delivery \
            failed, the deliveries, the name and object of the message, and the reason of the last failure. '-' means \
            none, '?' not known.

            EXAMPLES
              notifyctl dead list
              notifyctl dead list billing --json
            """)

    @OptionGroup var connection: ConnectionOptions
    @OptionGroup var letters: DeadLetterOptions
    @OptionGroup var options: ListOptions

    func run() async throws {
        let printer = ListPrinter<DeadLetterRow>(
            options: options, emptyNotice: letters.emptyNotice,
            fetch: { [letters] client in
                var rows: [DeadLetterRow] = []
                try await letters.read(client) { rows.append(DeadLetterRow($0)) }
                return rows
            },
            table: { look, _ in DeadLetterRow.table(look.items) },
            json: { row, json in json.object { row.write(to: &$0) } })
        try await printer.run(configuration: connection.configuration())
    }
}
