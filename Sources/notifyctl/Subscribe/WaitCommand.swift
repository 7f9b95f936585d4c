import ArgumentParser
import NotifyClient

struct WaitCommand: AsyncParsableCommand, ProgramRunning, PatternTaking {
    static let configuration = CommandConfiguration(
        commandName: "wait",
        abstract: "Wait for one message.",
        usage: "notifyctl wait [<options>] <patterns> ... [-- <command> [<arguments> ...]]",
        discussion: """
            Prints the next message and acknowledges it. With a command after '--', runs the command for the message \
            instead, and its exit status decides the answer: see 'notifyctl help work'. If the command fails, 'wait' \
            exits with 1; if the command can't be started, with 127. With --durable no message is lost between two \
            waits: the next wait with the same name gets the next message, and a message whose command has failed is \
            delivered again after a delay.

            With --from, a message that is already stored is taken, too: --from is \(PositionArgument.forms). An \
            existing durable subscription resumes instead.

            --timeout limits the time until the message arrives, not the time of the command. If no message has \
            arrived by then, 'wait' exits with 124; a later message is neither printed nor acknowledged. With \
            --durable or --from, a message that is already stored arrives even with --timeout 0; if there is none, \
            'wait' ends a second after notifyd has looked for one. A signal before the message arrives ends 'wait' with \
            1. A signal while the command runs ends the command, and the message is given back unless the command exits \
            with 0. \(OutputOptions.discussion)

            EXAMPLES
              notifyctl wait backup.done --timeout 1h
              notifyctl wait backup.done --from 4711
              notifyctl wait 'deploy.*' --durable deployer -- ./deploy
              notifyctl wait 'jobs.>' --durable w --group --timeout 0
            """)

    @OptionGroup var connection: ConnectionOptions

    @Argument(help: "Patterns of names.")
    var patterns: [String]

    @OptionGroup var receiving: ReceivingOptions

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Exit with 124 if no message arrives within this time.", valueName: "span"),
        transform: { try SpanArgument.span($0) })
    var timeout: Duration?

    @OptionGroup var output: OutputOptions

    var program: [String] = []

    private enum CodingKeys: CodingKey {
        case connection, patterns, receiving, timeout, output
    }

    func validate() throws {
        try UserNames.check(patterns)
        try receiving.checkDurable()
    }

    func run() async throws {
        try await SubscribeRunner(
            receiving, patterns: patterns, configuration: connection.configuration(), limit: 1, timeout: timeout,
            format: output.messageFormat,
            program: program.isEmpty ? nil : try JobRunner(program, keepsErrors: receiving.durable != nil),
            arrival: Arrival()
        ).run()
    }
}
