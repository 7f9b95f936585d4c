import ArgumentParser
import Glibc
import NotifyClient

struct AnnounceCommand: AsyncParsableCommand, ProgramRunning, PatternTaking, ContentTaking {
    static let configuration = CommandConfiguration(
        commandName: "announce",
        abstract: "Set a value while a command runs.",
        usage: "notifyctl announce [<options>] <name> [<body>] [-- <command> [<arguments> ...]]",
        discussion: """
            The value is set first, then the command starts. When the command has ended, the value is cleared, with \
            the exit status in the header 'exit-status', and 'announce' exits with the status of the command: with 128 \
            plus the number of the signal if a signal has ended it. If the value is refused, the command does not start. \
            Without a command, 'announce' keeps the value until SIGTERM, SIGINT or SIGHUP.

            The daemon clears the value when the connection ends, also if 'announce' is killed: so a value that is there \
            means that 'announce' is connected, not that the command works. With --grace the daemon waits for this time, \
            in which 'announce' can connect again. Then it clears the value, and posts --will under its name. 'announce' \
            connects again, and sets the value again, after the connection was lost.

            A value that another client announces is refused with status 75, unless --takeover is given and the client \
            runs as the same user, or this user has the right to manage everything, as root has. An 'announce' that has \
            lost its value reports it, and its command runs on.

            The command has the standard streams of 'announce', and gets its SIGTERM, SIGINT and SIGHUP; Ctrl-C reaches \
            it directly. If 'announce' is killed, the command gets SIGTERM from the kernel, unless its file is set-user-ID, \
            set-group-ID or has capabilities. A command that can't be started is status 127, or 126 if its file can't be \
            executed. No shell is involved: for shell syntax, run 'sh -c'.

            EXAMPLES
              notifyctl announce services.backup running -- ./backup.sh
              notifyctl announce services.web up --will down --grace 5s -- ./serve
              notifyctl announce locks.deploy "$HOSTNAME" -- ./deploy
            """)

    @OptionGroup var connection: ConnectionOptions

    @Argument(help: "The name of the value, such as services.backup.")
    var name: String

    @Argument(help: "The content of the value; empty by default.")
    var body: String?

    @Option(help: ArgumentHelp("The object of the value.", valueName: "text"))
    var object: String?

    @Option(
        name: [.customShort("H"), .long],
        help: ArgumentHelp("A header; may be given several times.", valueName: "key:value"),
        transform: Header.init(argument:))
    var header: [Header] = []

    @OptionGroup var announcement: AnnouncementOptions

    var program: [String] = []

    private enum CodingKeys: CodingKey {
        case connection, name, body, object, header, announcement
    }

    /// The name if it contains a wildcard and may have been meant as a pattern. The user is warned that it is a name.
    var patterns: [String] { name.contains { "*>".contains($0) } ? [name] : [] }

    func validate() throws {
        try UserNames.check([name])
        if body == "-" {
            throw ValidationError("'-' can't be read: standard input is for the command; see 'post --ephemeral'")
        }
    }

    func run() async throws {
        let announcer = Announcer(
            name: name, payload: CommandArguments.process.bytes(of: body ?? ""), object: object, headers: header,
            announcement)
        guard !program.isEmpty else {
            return try await announcer.runUntilSignal(connection.configuration(), isQuiet: false)
        }
        Glibc.exit(try await announcer.run(AttachedProgram(program), connection.configuration()))
    }
}
