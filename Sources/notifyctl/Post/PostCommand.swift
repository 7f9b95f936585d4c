import ArgumentParser
import Glibc
import NotifyClient

struct PostCommand: AsyncParsableCommand, PatternTaking, ContentTaking {
    static let configuration = CommandConfiguration(
        commandName: "post",
        abstract: "Post a message, or one for each line of the input.",
        discussion: """
            Prints one line for each message: 'posted NAME sequence=N durability=REACHED subscribers=N durables=N'. \
            'subscribers' is the number of connections with matching volatile subscriptions. 'durables' is the number \
            of durable subscriptions that the message was stored for. On a terminal, a message that reached no \
            subscriber and was not stored is reported.

            The durabilities are:

              automatic  the default: stored if a durable subscription matches, else
                         volatile
              volatile   never stored, and not delivered to durable subscriptions
              stored     in the log before the receipt: survives a crash of the daemon
              synced     flushed to disk before the receipt: survives a loss of power

            With --retain the message is also kept as the value of its name and object, until another one replaces it \
            or 'notifyctl clear' clears it: 'notifyctl get' prints it, and 'notifyctl subscribe --retained' follows it. \
            A value is always stored. With --if-sequence, the command ends with status 1, and the present sequence on \
            standard error, if the value has another sequence.

            With --ephemeral the command stays until SIGTERM, SIGINT or SIGHUP, and the message is the value of its name and \
            object as long as the command is connected. It is never stored. --will, --grace and --takeover are explained by \
            'notifyctl announce', which also runs a command meanwhile.

            Without a content argument the content is read from standard input. It is empty if standard input is a \
            terminal, /dev/null or closed. To post an empty message while standard input is used otherwise, give '' as \
            content.

            With --lines, a line that is too long is reported and left out. Any other error ends the command: one line \
            on standard error counts the posted lines, the lines that were not posted, and the lines whose outcome is \
            unknown, because the connection was lost or no receipt came in time. After a signal, sent lines get 3 \
            seconds for their receipts (or NOTIFYCTL_ANSWER_TIMEOUT). At the end, standard error has a summary, unless \
            --quiet is given.

            With --retry, lines that are known not to be posted are sent again, in order, while storage fails or is \
            full, a limit is reached or no daemon can be reached. Then posting continues. Later lines that were \
            already sent may be posted before them: the summary counts lines that were posted after later ones. If the \
            daemon does not answer, the command ends after the time of --retry, but after at least 1 and at most 30 \
            seconds: its lines may have been posted.

            EXAMPLES
              notifyctl post orders.created 'order 42'
              notifyctl post jobs.backup running --retain
              notifyctl post locks.deploy "$HOSTNAME" --retain --if-sequence 0
              notifyctl post backup.success '' --durability stored -H 'host: db1'
              df --human-readable / | notifyctl post disk.report --durability stored
              tail -f access.log | notifyctl post web.access --lines --quiet
              notifyctl post images.new --file ./photo.jpg --object shop-1 --json
            """)

    @OptionGroup var connection: ConnectionOptions

    @Argument(help: "The name of the message, such as orders.created.")
    var name: String

    @Argument(help: "The content; '-' for all of standard input, the default if standard input is a pipe or a file.")
    var body: String?

    @Option(
        name: .shortAndLong,
        help: ArgumentHelp("Read the content from a file; '-' is standard input.", valueName: "file"),
        completion: .file()
    )
    var file: String?

    @Flag(name: .shortAndLong, help: "Post each line of standard input, or of the file.")
    var lines = false

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "With --lines: after an error, try again for this time. An error after further posted lines restarts it.",
            valueName: "span"),
        transform: { try SpanArgument.span($0) })
    var retry: Duration?

    @Option(
        help: ArgumentHelp("An object by which subscribers can filter, in addition to the name.", valueName: "text"))
    var object: String?

    @Option(
        name: [.customShort("H"), .long],
        help: ArgumentHelp("A header; may be given several times.", valueName: "key:value"),
        transform: Header.init(argument:))
    var header: [Header] = []

    @Option(
        help: ArgumentHelp("The durability: \(Self.durabilities).", valueName: "durability"),
        completion: .list(NotificationClient.Durability.allCases.map(\.rawValue)), transform: Self.durability)
    var durability = NotificationClient.Durability.automatic

    @Flag(help: "Keep the message as the value of its name and object.")
    var retain = false

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "With --retain: only if the value has this sequence; 0: if there is none.", valueName: "sequence"),
        transform: { try SequenceArgument.revision($0) })
    var ifSequence: UInt64?

    @Flag(help: "Keep the message as the value of its name and object until this command ends, without storing it.")
    var ephemeral = false

    @OptionGroup var announcement: AnnouncementOptions

    @Flag(name: .shortAndLong, help: "Print only errors.")
    var quiet = false

    @Flag(help: "Print one JSON object for each message.")
    var json = false

    /// The name if it contains a wildcard and may have been meant as a pattern. The user is warned that it is a name.
    var patterns: [String] { !quiet && name.contains { "*>".contains($0) } ? [name] : [] }

    static let durabilities = "automatic, volatile, stored or synced"

    static func durability(_ argument: String) throws -> NotificationClient.Durability {
        guard let durability = NotificationClient.Durability(rawValue: argument) else {
            throw ValidationError("expected \(durabilities)")
        }
        return durability
    }

    private var content: MessageContent { MessageContent(argument: body, file: file) }

    func validate() throws {
        try UserNames.check([name])
        try content.validate()
        if ephemeral {
            let isInvalid = retain || lines || json || ifSequence != nil || retry != nil || durability != .automatic
            if isInvalid {
                throw ValidationError(
                    "--ephemeral can't be used with --retain, --if-sequence, --durability, --lines, --retry or --json")
            }
        }
        if announcement.areGiven, !ephemeral {
            throw ValidationError("--will, --grace and --takeover need --ephemeral")
        }
        if retry != nil, !lines { throw ValidationError("--retry needs --lines") }
        if retain, durability == .volatile {
            throw ValidationError("--retain stores the message: omit '--durability volatile'")
        }
        if ifSequence != nil, !retain { throw ValidationError("--if-sequence needs --retain") }
        if ifSequence != nil, lines { throw ValidationError("--if-sequence can't be used with --lines") }
        if body != nil, lines { throw ValidationError("give the content or --lines, not both") }
    }

    func run() async throws {
        if ephemeral {
            let announcer = Announcer(
                name: name, payload: try await content.payload(), object: object, headers: header, announcement)
            return try await announcer.runUntilSignal(connection.configuration(), isQuiet: quiet)
        }
        let plain = try NotificationClient.OutgoingMessage(
            name: name, object: object, headers: .init(header), durability: durability)
        let message = retain ? plain.asValue(ifSequence: ifSequence) : plain
        let printer = ReceiptPrinter(name: name, format: quiet ? .nothing : json ? .json : .text)
        if lines {
            try await LinePoster(template: message, input: content.open(), printer: printer, retryTime: retry)
                .run(connection.configuration())
        } else {
            try await post(message.with(payload: content.payload()), printer)
        }
    }

    private func post(_ message: NotificationClient.OutgoingMessage, _ printer: ReceiptPrinter) async throws {
        let receipt = try await withNotificationClient(configuration: connection.configuration()) { client in
            try await client.post(message)
        }
        var output = StandardOutput()
        output.gather { printer.append(receipt, to: &$0) }
        try output.flush()
        if !quiet, isatty(STDERR_FILENO) == 1, let notice = ReceiptPrinter.notice(receipt, requested: durability) {
            StandardError.write(notice)
        }
    }
}
