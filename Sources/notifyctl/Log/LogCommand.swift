import ArgumentParser
import FoundationEssentials
import NotifyClient

struct LogCommand: AsyncParsableCommand, PatternTaking {
    static let configuration = CommandConfiguration(
        commandName: "log",
        abstract: "Print stored messages.",
        discussion: """
            Prints the messages of the daemon's log, oldest first, or newest first with --reverse. The command needs \
            no subscription. The log has the messages that a durable subscription matched, or that were posted with \
            --durability stored or synced, until the retention rules delete them. By default, a message that every durable \
            subscription has acknowledged is deleted after 24 hours. Messages that you may not receive are left out. \
            Damaged messages are reported on standard error, and so are messages after --from that were deleted. The \
            time of a deleted message is not known: if --from is a time, deletions between the last message before \
            that time and the first message after it are reported, too.

            --from and --to are \(PositionArgument.forms). The message with a given sequence is included. If --to is a \
            time, only messages before that time are included.

            --summary prints one line for each name instead: the number of messages, their bytes in the log, and the \
            time of the last message. The last columns, which --wide shows, are the sequence of the last message, and \
            the sequence and time of the first one. Names with more bytes come first; --limit limits the number of \
            names, and the last line sums up the others. \(TableOptions.discussion)

            By default each message is printed as its time, sequence, name and payload. \(OutputOptions.discussion)

            EXAMPLES
              notifyctl log
              notifyctl log 'orders.>' --from 'yesterday 12:00' --to 'yesterday 13:00'
              notifyctl log 'orders.*' --object shop-1 --from 2h --limit 10 --json
              notifyctl log 'orders.>' --reverse --limit 10
              notifyctl log --from now --follow
              notifyctl log --summary --limit 20
            """)

    /// The format of messages if no option selects another format.
    private static let defaultFormat = "{time} {sequence} {name} {payload}"

    @OptionGroup var connection: ConnectionOptions

    @Argument(help: "Patterns of names; every name by default. A message that matches several is printed once.")
    var patterns: [String] = [">"]

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Where to begin.", valueName: "start"), completion: PositionArgument.completion,
        transform: { try PositionArgument.start($0) })
    var from = NotificationClient.Start.oldest

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Where to end; at the end of the log by default.", valueName: "end"),
        completion: PositionArgument.completion, transform: { try PositionArgument.start($0) })
    var to: NotificationClient.Start?

    @Option(help: ArgumentHelp("Only messages with this object.", valueName: "text"))
    var object: String?

    @Option(
        name: .shortAndLong, parsing: .unconditional,
        help: ArgumentHelp("Exit after this number of messages.", valueName: "number"),
        transform: { try CountArgument.count($0) })
    var limit: Int?

    @Flag(
        name: .shortAndLong, help: "After the stored messages, print each message as it is stored. Excludes --to.")
    var follow = false

    @Flag(name: .shortAndLong, help: "Print the newest message first; --limit then selects the last messages.")
    var reverse = false

    @Flag(help: "Print the number and bytes of the messages of each name, biggest first.")
    var summary = false

    @OptionGroup var table: TableOptions

    @OptionGroup var output: OutputOptions

    func validate() throws {
        try UserNames.check(patterns)
        if let limit, limit < 1 { throw ValidationError("--limit must be at least 1") }
        if let to, from.isAfter(to, now: Date()) { throw ValidationError("--from is after --to") }
        if summary {
            if follow || reverse { throw ValidationError("--summary can't be used with --follow or --reverse") }
            if object != nil { throw ValidationError("--summary counts messages with any object; omit --object") }
            if output.verbose || output.template != nil || output.raw || output.null {
                throw ValidationError("--summary prints a table, or JSON objects with --json; omit the other formats")
            }
        }
        if table.wide, !summary { throw ValidationError("--wide needs --summary: messages are not printed in columns") }
        if follow, reverse { throw ValidationError("--follow can't be used with --reverse") }
        if follow, to != nil {
            throw ValidationError("--follow has no end and can't be used with --to; see --limit")
        }
    }

    func run() async throws {
        if summary { return try await printSummary() }
        let format = try messageFormat
        let times = output.time.noticeStyle
        var configuration = connection.configuration()
        configuration.onConnectionChange = ConnectionReporter().handler
        let isEndless = follow && limit == nil
        try await Interruption.run(incomplete: isEndless ? nil : .incomplete) {
            [configuration, patterns, from, to, object, limit, follow, reverse] interruption in
            try await withNotificationClient(configuration: configuration) { client in
                let messages = try client.log(
                    patterns, from: from, to: to, object: object, limit: limit, follows: follow,
                    order: reverse ? .newestFirst : .oldestFirst)
                let isFound = try await MessagePrinter(format: format).print(messages.batches, until: interruption)
                guard !follow, !Task.isCancelled else { return }
                interruption.completeOutput()
                let notice = try await HistoryNotice.find(
                    client, HistoryNotice.Request(patterns: patterns, object: object, from: from, to: to),
                    isFound: isFound, times)
                if let notice { StandardError.write(notice) }
            }
        }
    }

    private func printSummary() async throws {
        let (patterns, from, to, limit) = (patterns, from, to, limit)
        let summary = try await withNotificationClient(configuration: connection.configuration()) {
            try await $0.administration.logSummary(patterns, from: from, to: to, limit: limit)
        }
        try SummaryPrinter(isJSON: output.json, times: output.time.style, style: table.style).print(summary)
    }

    private var messageFormat: MessageFormat {
        get throws {
            var format = output.messageFormat
            switch format.content {
            // The default format contains the name, so --verbose changes nothing.
            case .payload, .nameAndPayload: format.content = .template(try FormatTemplate(Self.defaultFormat))
            case .json, .template: break
            }
            return format
        }
    }
}
