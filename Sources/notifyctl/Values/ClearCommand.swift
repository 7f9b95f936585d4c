import ArgumentParser
import NotifyClient

struct ClearCommand: AsyncParsableCommand, PatternTaking {
    static let configuration = CommandConfiguration(
        commandName: "clear",
        abstract: "Clear values.",
        discussion: """
            Prints the number of values that were cleared. Subscribers get a message without content, which says that \
            the value is cleared. You need the right to post each name that you give, and each name with a value that \
            a pattern matches. Several values are not cleared in one step: after an error, some of them may be cleared.

            With --if-sequence, the command ends with status 1 and the present sequence on standard error if the value \
            has another sequence. This concerns one value: without --object, the one without an object.

            EXAMPLES
              notifyctl clear jobs.backup
              notifyctl clear 'jobs.>' --object db1
              notifyctl clear locks.deploy --if-sequence 1042
            """)

    @OptionGroup var connection: ConnectionOptions

    @Argument(help: "Names, or patterns of names.")
    var patterns: [String]

    @Option(help: ArgumentHelp("Only values with this object; '' for none.", valueName: "text"))
    var object: String?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Clear one value, only if it has this sequence.", valueName: "sequence"),
        transform: { try SequenceArgument.revision($0) })
    var ifSequence: UInt64?

    @Flag(name: .shortAndLong, help: "Print only errors.")
    var quiet = false

    func validate() throws {
        try UserNames.check(patterns)
        guard ifSequence != nil else { return }
        guard patterns.count == 1, !UserNames.isPattern(patterns[0]) else {
            throw ValidationError("--if-sequence needs one name without wildcards")
        }
    }

    func run() async throws {
        let (patterns, object, ifSequence) = (patterns, object, ifSequence)
        let count = try await withNotificationClient(configuration: connection.configuration()) { client in
            guard let ifSequence else { return try await client.clear(matching: patterns, object: object) }
            return try await client.clear(patterns[0], object: object, ifSequence: ifSequence) ? 1 : 0
        }
        guard !quiet else { return }
        var output = StandardOutput()
        output.append("cleared \(count) \(count == 1 ? "value" : "values")\n")
        try output.flush()
    }
}
