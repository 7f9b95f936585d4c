import ArgumentParser
import NotifyClient

struct GetCommand: AsyncParsableCommand, PatternTaking {
    static let configuration = CommandConfiguration(
        commandName: "get",
        abstract: "Print values: the last messages posted with --retain.",
        discussion: """
            One name prints its value as its payload and a newline, or a table if it has several values, with different \
            objects. With --object, a name has at most one value: give it in scripts, also as --object ''. Several names, \
            a pattern, or --wide print a table. The last column of a table shows the beginning of a payload; --verbose, \
            --json and --format print whole payloads. \(OutputOptions.discussion)

            A value that is damaged in the log is an error with status 75 if only names are given; patterns leave it out, \
            and 'notifyctl check' reports it. The exit status is 1 if there is no value. With --wait, the command waits for the first one.

            EXAMPLES
              notifyctl get jobs.backup
              notifyctl get jobs.backup --object db1
              notifyctl get 'jobs.>' --json
              notifyctl get image.logo --raw >logo.png
              notifyctl get jobs.backup --wait --timeout 1m
            """)

    @OptionGroup var connection: ConnectionOptions

    @Argument(help: "Names, or patterns of names.")
    var patterns: [String]

    @Option(help: ArgumentHelp("Only values with this object; '' for none.", valueName: "text"))
    var object: String?

    @Flag(name: .shortAndLong, help: "If there is no value yet, wait for the first one.")
    var wait = false

    @Option(
        name: .shortAndLong, parsing: .unconditional,
        help: ArgumentHelp("With --wait: exit after this time, with status 124.", valueName: "span"),
        transform: { try SpanArgument.span($0) })
    var timeout: Duration?

    @OptionGroup var table: TableOptions

    @OptionGroup var output: OutputOptions

    func validate() throws {
        try UserNames.check(patterns)
        if timeout != nil, !wait { throw ValidationError("--timeout needs --wait") }
        if table.wide, !isPlain { throw ValidationError("--wide is for tables, and needs no other format") }
    }

    /// Whether no option chooses a format.
    private var isPlain: Bool {
        !output.json && !output.verbose && output.template == nil && !output.raw && !output.null
    }

    /// Whether to print a table: if there may be several values, or are several values with different objects.
    private func isTable(count: Int) -> Bool {
        isPlain && (patterns.count > 1 || UserNames.isPattern(patterns[0]) || table.wide || count > 1)
    }

    func run() async throws {
        let (patterns, object, wait) = (patterns, object, wait)
        let (format, times, style) = (output.messageFormat, output.time.style, table.style)
        var configuration = connection.configuration()
        if wait { configuration.onConnectionChange = ConnectionReporter().handler }
        let opening = AnswerEvent()
        try await Interruption.run(incomplete: .incomplete, timeout: timeout, after: opening) {
            [configuration] interruption in
            let values = try await withNotificationClient(configuration: configuration) { client in
                let values = try await Self.values(client, patterns, object)
                if !values.isEmpty || !wait { return values }
                opening.finish()
                return try await Self.first(client, patterns, object).map { [$0] } ?? []
            }
            guard !Task.isCancelled else { return }
            guard !values.isEmpty else { throw CommandFailure(.failure, "there is no value") }
            var output = StandardOutput()
            if isTable(count: values.count) {
                for line in Self.table(values, times).lines(in: style) { output.append("\(line)\n") }
            } else {
                for value in values {
                    output.gather { format.append(value, to: &$0) }
                    if output.isFull { try await output.flush(until: interruption) }
                }
            }
            try await output.flush(until: interruption)
        }
    }

    private static func values(
        _ client: NotificationClient, _ patterns: [String], _ object: String?
    ) async throws -> [NotificationClient.Message] {
        var values: [[String]: NotificationClient.Message] = [:]
        for try await value in try client.values(matching: patterns, object: object) {
            // A stored value that was read, cleared and then announced is read twice.
            values[[value.name, value.object ?? ""]] = value
        }
        return values.values.sorted { ($0.name, $0.object ?? "") < ($1.name, $1.object ?? "") }
    }

    private static func first(
        _ client: NotificationClient, _ patterns: [String], _ object: String?
    ) async throws -> NotificationClient.Message? {
        for try await event in try client.watch(patterns, object: object) {
            if case .value(let message) = event { return message }
        }
        return nil
    }

    static func table(_ values: [NotificationClient.Message], _ times: TimeStyle) -> Table {
        var table = Table([
            .text("NAME"), .text("OBJECT"), .number("SEQUENCE"), .time("TIME"), .number("UID").wide,
            .number("BYTES").wide, .text("VALUE"),
        ])
        for value in values {
            let text = value.text.map { String($0.prefix(maximumText)) + ($0.count > maximumText ? "…" : "") }
            table.append([
                value.name, value.object ?? "-", "\(value.sequence)", times.text(microseconds: value.timeMicroseconds),
                "\(value.uid)",
                Quantities.bytes(UInt64(value.payload.count)), text ?? "(not UTF-8)",
            ])
        }
        return table
    }

    /// The most characters of a payload in the table.
    private static let maximumText = 60
}
