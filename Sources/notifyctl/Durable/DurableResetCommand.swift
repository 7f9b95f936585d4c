import ArgumentParser
import FoundationEssentials
import NotifyClient

struct DurableResetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reset",
        abstract: "Move the cursor of a durable subscription forwards or backwards.",
        discussion: """
            Acknowledgements after the position are forgotten: the stored messages are delivered again, marked as \
            redelivered. Messages before the position are not delivered any more. Messages that the subscription had \
            lost are no longer reported. A client that is attached continues at the position.

            The position is \(PositionArgument.forms). \(TimeOptions.discussion)

            EXAMPLES
              notifyctl durable reset billing --to oldest
              notifyctl durable reset billing --to now
              notifyctl durable reset billing --to 'yesterday 12:00'
            """)

    @OptionGroup var connection: ConnectionOptions
    @OptionGroup var subscription: DurableOptions

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Where in the log the subscription continues.", valueName: "position"),
        completion: PositionArgument.completion, transform: { try PositionArgument.start($0) })
    var to: NotificationClient.Start

    @OptionGroup var time: TimeOptions

    func run() async throws {
        let to = to.fixed(at: Date())
        let details = try await withNotificationClient(configuration: connection.configuration()) { client in
            try await client.administration.resetDurableSubscription(
                subscription.name, to: to, uid: subscription.uid)
        }
        var output = StandardOutput()
        output.append("reset \(subscription.name): \(Self.text(to, cursor: details.subscription.cursor, time.style))\n")
        try output.flush()
    }

    /// The answer: the position at which the subscription continues.
    static func text(_ position: NotificationClient.Start, cursor: UInt64, _ times: TimeStyle) -> String {
        guard cursor > 0 else { return "continues with the oldest stored message" }
        guard case .time(let time) = position else { return "continues after sequence \(cursor)" }
        return "continues with messages posted since \(times.text(time)), after sequence \(cursor)"
    }
}
