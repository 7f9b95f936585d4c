import ArgumentParser
import NotifyClient

struct DurableEditCommand: AsyncParsableCommand, PatternTaking {
    static let configuration = CommandConfiguration(
        commandName: "edit",
        abstract: "Replace the patterns of a durable subscription.",
        discussion: """
            The cursor and the acknowledgements stay: the subscription delivers the stored messages after its cursor \
            that the new patterns match. Attached clients stay attached. Programs that attach later must name the new \
            patterns, so change these programs, too.

            EXAMPLES
              notifyctl durable edit billing --patterns 'orders.>' 'refunds.>'
              sudo notifyctl durable edit billing --user alice --patterns 'orders.*'
            """)

    @OptionGroup var connection: ConnectionOptions
    @OptionGroup var subscription: DurableOptions

    @Option(
        parsing: .upToNextOption,
        help: ArgumentHelp(
            "The new patterns of names. A message that matches several is delivered once.", valueName: "pattern"))
    var patterns: [String]

    func validate() throws {
        try UserNames.check(patterns)
    }

    func run() async throws {
        let details = try await withNotificationClient(configuration: connection.configuration()) { client in
            try await client.administration.editDurableSubscription(
                subscription.name, patterns: patterns, uid: subscription.uid)
        }
        var output = StandardOutput()
        output.append("edited \(subscription.name): \(details.subscription.patterns.joined(separator: " "))\n")
        try output.flush()
    }
}
