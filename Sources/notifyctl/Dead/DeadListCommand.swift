import ArgumentParser
import NotifyClient

struct DeadListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List dead letters, oldest first.",
        discussion: """
            Prints one line for each dead letter: its sequence (the value for --id), the durable subscription, the \
            time at which it was posted after the last failed delivery, the name of the message, and the reason of the \
            last failure. The last columns, which --wide shows, are the number of deliveries and the object of the \
            message. '-' stands for no value, '?' for an unknown one. Dead letters of messages that you may not receive \
            are left out. Damaged dead letters are reported on standard error.

            \(TimeOptions.discussion)

            \(ListOptions.discussion)

            EXAMPLES
              notifyctl dead list
              notifyctl dead list billing --json
            """)

    @OptionGroup var connection: ConnectionOptions
    @OptionGroup var letters: DeadLetterOptions
    @OptionGroup var options: ListOptions
    @OptionGroup var time: TimeOptions

    func validate() throws { try options.checkInterval() }

    func run() async throws {
        let times = time.style
        let printer = ListPrinter<DeadLetterRow>(
            options: options, title: "dead letters", emptyNotice: letters.selected == nil ? letters.emptyNotice : nil,
            fetch: { [letters] client in
                var rows: [DeadLetterRow] = []
                try await letters.read(client) { rows.append(DeadLetterRow($0)) }
                return rows
            },
            table: { look, _ in DeadLetterRow.table(look.items, times) },
            json: { row, json in json.object { row.write(to: &$0) } })
        let count = try await printer.run(configuration: connection.configuration())
        if let selected = letters.selected, count < selected.count, !options.watch {
            throw CommandFailure(.failure, DeadLetterText.missing(selected.count - count))
        }
    }
}
