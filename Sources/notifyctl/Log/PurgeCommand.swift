import ArgumentParser
import FoundationEssentials
import NotifyClient

struct PurgeCommand: AsyncParsableCommand, PatternTaking {
    static let configuration = CommandConfiguration(
        commandName: "purge",
        abstract: "Delete stored messages.",
        discussion: """
            Deletes the stored messages whose names match. A durable subscription that has not acknowledged all of \
            them gets a gap instead. Messages that wait for another delivery after a failure are deleted, too, and so \
            are the dead letters of the messages. A running job continues, but is not run again. You need the right to \
            manage every name that the patterns match. Asks before it deletes; without a terminal, --yes is required. \
            'notifyctl log --summary' shows the stored messages of each name.

            --before is \(PositionArgument.forms). Messages at that position or later remain. By default, all messages \
            that were posted before the question are deleted; with --yes, those that are stored when the deletion begins.

            EXAMPLES
              notifyctl purge 'metrics.>' --before 2h
              notifyctl purge orders.test --yes
            """)

    @OptionGroup var connection: ConnectionOptions

    @Argument(help: "Patterns of names.")
    var patterns: [String]

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("The position of the first message to keep.", valueName: "end"),
        completion: PositionArgument.completion, transform: { try PositionArgument.start($0) })
    var before: NotificationClient.Start?

    @Flag(name: .shortAndLong, help: "Do not ask.")
    var yes = false

    @OptionGroup var time: TimeOptions

    func validate() throws {
        try UserNames.check(patterns)
    }

    func run() async throws {
        if !yes { try Question.checkTerminal() }
        // Fixed before the question: while the user thinks, messages are posted, and an age would become a later time.
        let (patterns, before) = (patterns, before?.fixed(at: Date()))
        let (asks, times) = (!yes, time.noticeStyle)
        let result = try await withNotificationClient(configuration: connection.configuration()) { client in
            guard asks else { return try await client.administration.purge(patterns, before: before) }
            var end = before
            if end == nil || end == .now { end = .sequence(try await client.administration.nextSequence()) }
            let present = try await Self.present(client, patterns, end)
            try Question.confirm(Self.question(patterns, before, times, present))
            return try await client.administration.purge(patterns, before: end)
        }
        var output = StandardOutput()
        output.append(Self.text(result))
        try output.flush()
    }

    /// The number of messages that a purge would delete, and their bytes, both without dead letters; nil if this user
    /// may delete the messages, but not receive them.
    private static func present(
        _ client: NotificationClient, _ patterns: [String], _ before: NotificationClient.Start?
    ) async throws -> (messages: UInt64, bytes: UInt64)? {
        let summary: Administration.LogSummary
        do {
            summary = try await client.administration.logSummary(patterns, to: before, limit: 1)
        } catch {
            guard error.code == .forbidden else { throw error }
            return nil
        }
        let totals = summary.names.map(\.totals) + [summary.others].compactMap { $0 }
        return totals.reduce((0, 0)) { ($0.0 + $1.messages, $0.1 + $1.bytes) }
    }

    static func question(
        _ patterns: [String], _ before: NotificationClient.Start?, _ times: TimeStyle,
        _ present: (messages: UInt64, bytes: UInt64)?
    ) -> String {
        let names = patterns.map { "'\(Table.printable($0))'" }.joined(separator: ", ")
        let size = present.map { count, bytes in
            " At present, there \(count == 1 ? "is" : "are") \(count), \(Quantities.bytes(bytes))."
        }
        return "Delete the stored messages of \(names)\(before.map { " " + $0.textBefore(times) } ?? "")?\(size ?? "")"
    }

    static func text(_ result: Administration.PurgeResult) -> String {
        let losers =
            result.subscriptions == 0
            ? ""
            : "; \(result.subscriptions) durable \(plural("subscription", UInt64(result.subscriptions))) had not read all"
        let copies =
            result.redeliveries == 0
            ? "" : ", and \(result.redeliveries) that waited for another delivery"
        return "deleted \(result.messages) \(plural("message", result.messages)), "
            + "\(Quantities.bytes(result.bytes))\(copies)\(losers)\n"
    }

    private static func plural(_ word: String, _ count: UInt64) -> String { count == 1 ? word : word + "s" }
}
