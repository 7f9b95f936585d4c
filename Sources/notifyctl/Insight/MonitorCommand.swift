import ArgumentParser
import NotifyClient

struct MonitorCommand: AsyncParsableCommand, PatternTaking {
    static let configuration = CommandConfiguration(
        commandName: "monitor",
        abstract: "Print each post and request, with its receipt or the reason why it was refused.",
        discussion: """
            Prints one line for each post: its time, sequence, user and process, its name, object and headers, the \
            size of its payload, and its receipt: the durability, the number of connections it was sent to, and the \
            number of durable subscriptions it was stored for. A stored post is printed after its commit. For a \
            refused post, the line contains the reason and, with the right to manage everything, the rule that forbids \
            it.

            Requests to servers are printed, too: the line of a request ends with 'request' in place of a receipt, and \
            --json has "request":true. Replies are not printed.

            Prints accepted posts whose name this user may receive, and refused posts of this user or, with the right \
            to manage everything, of every user. The daemon records at most 5,000 posts per second for a monitor and \
            keeps at most 256 KiB of them. It skips other posts, and a line on standard error reports their number.

            \(TimeOptions.discussion)

            EXAMPLES
              notifyctl monitor
              notifyctl monitor 'orders.>' 'jobs.*' --json
              notifyctl monitor --count 100
            """)

    @OptionGroup var connection: ConnectionOptions

    @Argument(help: "Patterns of names. By default, all names except those under notifyd.")
    var patterns: [String] = [">"]

    @Flag(help: "Print one JSON object for each post, on a line of its own.")
    var json = false

    @Option(
        name: .shortAndLong, parsing: .unconditional,
        help: ArgumentHelp("Exit after this number of posts.", valueName: "number"),
        transform: { try CountArgument.count($0) })
    var count: Int?

    @OptionGroup var time: TimeOptions

    func validate() throws {
        try UserNames.check(patterns)
        if let count, count < 1 { throw ValidationError("--count must be at least 1") }
    }

    func run() async throws {
        var configuration = connection.configuration()
        let reporter = ConnectionReporter()
        configuration.onConnectionChange = reporter.handler
        let printer = PostPrinter(patterns: patterns, json: json, times: time.style, limit: count, reporter: reporter)
        try await Interruption.run(incomplete: count == nil ? nil : .incomplete) { [configuration] interruption in
            try await withNotificationClient(configuration: configuration) { client in
                try await printer.run(client, until: interruption)
            }
        }
    }
}
