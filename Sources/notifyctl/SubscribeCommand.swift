import ArgumentParser
import Glibc
import NotifyClient

struct SubscribeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "subscribe",
        abstract: "Print messages as they are posted.",
        discussion: """
            In a pattern '*' stands for one part of a name, and a last '>' for one or more. What was missed, and lost \
            connections, are reported on standard error. While the output is not read, the daemon keeps what is posted \
            up to its limit; then it drops the oldest.

            With --durable the daemon keeps what was not printed yet: the next subscribe under the same name, with the \
            same patterns, goes on where this one stopped. The subscription is created even if the time is over at once.

            Without other options each message is its payload and a newline. A field in a --format is \
            \(FormatTemplate.Field.names).

            EXAMPLES
              notifyctl subscribe 'orders.>'
              notifyctl subscribe 'orders.*' 'stock.>' --verbose
              notifyctl subscribe 'orders.>' --durable billing --from oldest --json
              notifyctl subscribe 'orders.>' --format '{time} {name} {header:id}\\t{text}'
              notifyctl subscribe files.new --null | xargs -0 -n 1 ls -l
              notifyctl subscribe backup.done --count 1 --timeout 3600 && echo done
            """)

    @OptionGroup var connection: ConnectionOptions

    @Argument(help: "Which names; a message that several match is printed once.")
    var patterns: [String]

    @Option(
        help: ArgumentHelp(
            "Attach to the durable subscription of this name; create it if there is none.", valueName: "name"),
        completion: DurableCommand.nameCompletion)
    var durable: String?

    @Option(help: ArgumentHelp("Where a durable subscription begins when it is created.", valueName: "start"))
    var from: DurableStart?

    @Option(help: ArgumentHelp("Only messages with this object.", valueName: "text"))
    var object: String?

    @Option(name: .shortAndLong, help: ArgumentHelp("End after so many messages.", valueName: "number"))
    var count: Int?

    @Option(
        name: .shortAndLong, help: ArgumentHelp("End after so much time in all, with status 124.", valueName: "seconds")
    )
    var timeout: Double?

    @OptionGroup var output: OutputOptions

    func validate() throws {
        try UserNames.check(patterns)
        if from != nil, durable == nil {
            throw ValidationError("--from is for durable subscriptions: name one with --durable, or leave it out")
        }
        if let count, count < 1 { throw ValidationError("--count is 1 or more") }
        if let timeout, !(timeout >= 0 && timeout < 1e9) { throw ValidationError("--timeout is a number of seconds") }
    }

    func run() async throws {
        try await SubscribeRunner(
            configuration: connection.configuration(), patterns: patterns, durable: durable,
            start: (from ?? .now).start, object: object, limit: count, timeoutSeconds: timeout,
            format: output.messageFormat
        ).run()
    }
}
