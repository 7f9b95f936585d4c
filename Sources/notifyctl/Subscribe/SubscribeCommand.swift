import ArgumentParser
import Glibc
import NotifyClient

struct SubscribeCommand: AsyncParsableCommand, ProgramRunning, PatternTaking {
    static let configuration = CommandConfiguration(
        commandName: "subscribe",
        abstract: "Print messages as they are posted.",
        usage: "notifyctl subscribe [<options>] <patterns> ... [--exec -- <command> [<arguments> ...]]",
        discussion: """
            In a pattern '*' matches one token of a name, and a final '>' one or more. Gaps and lost connections are \
            reported on standard error. While the output is not read, the daemon buffers messages up to its limit, then \
            drops the oldest.

            With --durable the daemon keeps the messages that were not printed yet: the next subscribe with the same \
            name and the same patterns resumes after the last printed message. Printing a message acknowledges it, \
            even if the program that reads the output fails. If a job must be done before its message is acknowledged, \
            use 'notifyctl work'. The subscription is created even with --timeout 0.

            With --group several clients share the messages of a durable subscription: each message goes to one of \
            them. While the subscription is shared, a client without --group is refused. While it is not shared, a \
            client with --group is refused. --takeover attaches in both cases, and ends the attachments of the other \
            clients.

            --from is \(PositionArgument.forms). A new durable subscription starts there, and reports deletions after \
            that sequence, or after the first message since that time. An existing one resumes; 'notifyctl durable \
            reset' moves it. Without --durable, the stored messages from there on are printed first, and then each \
            message as it is posted.

            With --retained, the values that match are printed first (see 'notifyctl post --retain'), and then each change \
            of a value, each with its name. A value that changes several times before it is read is printed once, with \
            its latest content. A cleared value is printed as its name, its object if it has one, and the reason: \
            cleared, or disconnected or released for an announced value. The objects of other values are \
            printed with --json, or with --format, such as '{name} [{object}] {text}'. If it is unknown what has changed, \
            for example because a backup was restored, a line on standard error says that all values follow again; \
            those that do not are gone. With --json, an object with up_to_date follows the first values, and one with \
            reset takes the place of that line.

            By default each message is printed as its payload and a newline. \(OutputOptions.discussion)

            EXAMPLES
              notifyctl subscribe 'orders.>'
              notifyctl subscribe 'orders.*' 'stock.>' --verbose
              notifyctl subscribe 'orders.>' --from 2h
              notifyctl subscribe 'orders.*' --durable billing --from oldest --json
              notifyctl subscribe 'orders.*' --durable workers --group
              notifyctl subscribe 'orders.>' --format '{time} {name} {header:id}\\t{text}'
              notifyctl subscribe files.new --null | xargs -0 -n 1 ls -l
              notifyctl subscribe --retained 'jobs.>'
              notifyctl subscribe disk.full --exec -- ./clean-up
              notifyctl subscribe backup.success --count 1 --timeout 1h && echo done
            """)

    @OptionGroup var connection: ConnectionOptions

    @Argument(help: "Patterns of names. A message that matches several is printed once.")
    var patterns: [String]

    @OptionGroup var receiving: ReceivingOptions

    @Option(
        name: .shortAndLong, parsing: .unconditional,
        help: ArgumentHelp("Exit after this number of messages.", valueName: "number"),
        transform: { try CountArgument.count($0) })
    var count: Int?

    @Option(
        name: .shortAndLong, parsing: .unconditional,
        help: ArgumentHelp("Exit after this time, with status 124.", valueName: "span"),
        transform: { try SpanArgument.span($0) })
    var timeout: Duration?

    @Flag(
        help: ArgumentHelp(
            "Run the command after '--' for each message, one after another, and print nothing. A failure is reported."
        ))
    var exec = false

    @Flag(help: "Print values, and then their changes. Excludes --durable, --from and --exec.")
    var retained = false

    @OptionGroup var output: OutputOptions

    var program: [String] = []

    private enum CodingKeys: CodingKey {
        case connection, patterns, receiving, count, timeout, exec, retained, output
    }

    var takesProgram: Bool { exec }

    func validate() throws {
        try UserNames.check(patterns)
        if exec, receiving.durable != nil {
            throw ValidationError(
                "--exec does not run a failed command again: for a durable subscription use 'notifyctl work'")
        }
        try receiving.checkDurable()
        if retained {
            if receiving.durable != nil || receiving.subscription.from != nil || exec {
                throw ValidationError("--retained can't be used with --durable, --from or --exec")
            }
        }
        if let count, count < 1 { throw ValidationError("--count must be at least 1") }
    }

    func run() async throws {
        if exec, program.isEmpty {
            throw CommandFailure(.usage, "the command to run is missing: add it after '--', such as '-- ./clean-up'")
        }
        if retained { return try await watch() }
        try await SubscribeRunner(
            receiving, patterns: patterns, configuration: connection.configuration(), limit: count, timeout: timeout,
            format: output.messageFormat,
            program: exec ? try JobRunner(program, keepsErrors: receiving.durable != nil) : nil
        ).run()
    }

    private func watch() async throws {
        var (configuration, format) = (connection.configuration(), output.messageFormat)
        configuration.onConnectionChange = ConnectionReporter().handler
        // The names tell the values apart, so they are always printed.
        if case .payload = format.content { format.content = .nameAndPayload }
        try await WatchRunner(
            configuration: configuration, patterns: patterns, object: receiving.subscription.object, limit: count,
            timeout: timeout, format: format
        ).run()
    }
}
