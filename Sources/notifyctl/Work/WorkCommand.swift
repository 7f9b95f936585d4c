import ArgumentParser
import NotifyClient

struct WorkCommand: AsyncParsableCommand, ProgramRunning, PatternTaking {
    static let configuration = CommandConfiguration(
        commandName: "work",
        abstract: "Run a command for each message of a durable subscription.",
        usage: "notifyctl work [<options>] <patterns> ... --durable <name> -- <command> [<arguments> ...]",
        discussion: """
            The command gets the payload on standard input, and in its environment NOTIFY_NAME, NOTIFY_OBJECT, \
            NOTIFY_SEQUENCE, NOTIFY_TIME, NOTIFY_UID, NOTIFY_PID, NOTIFY_DELIVERY (1 plus the number of failures so \
            far) and, for each header, NOTIFY_HEADER_<KEY>: in upper case, with '_' in place of other bytes than letters \
            and digits. No shell is involved: for shell syntax, run 'sh -c'.

            The exit status of the command decides, even if its children still run:

              0         the message is acknowledged
              75        the message is given back: it is delivered again after the delay of
                        --retry-after, and this is not counted as a failure
              65        the message becomes a dead letter at once
              126, 127  the command can't be started: the message is given back, and
                        'work' ends with 127
              other     the delivery has failed: the message is delivered again, and
                        becomes a dead letter after --max-deliveries; also if a signal
                        has ended the command

            'notifyctl post' exits with 75 while the daemon can't store. A job that passes this status on never \
            fails, however often it runs. While a command runs, the deadline of its message is extended. An existing \
            durable subscription keeps its settings, and settings that differ are reported: see 'notifyctl durable \
            set'.

            'dead show', 'trace' and 'durable show' print the reason of a failure: the exit status or signal, and the \
            last 1 KiB of the command's standard error. The daemon stores the reason, so it must not contain secrets. \
            'work' prints standard error as well; for the command it is a pipe. Messages that were deleted before a \
            command got them are reported.

            If 'work' is killed, its commands continue, and their messages are delivered again: a job may run twice, also at \
            the same time.

            With --group, several 'work' share the messages. SIGTERM, SIGINT and SIGHUP end 'work' when the running \
            commands have exited; a second signal is passed on to these commands. 'work' ends in the same way, with \
            status 1, if the reader of its output closes it. The message of a command that then fails is given back.

            A service manager may stop 'work' and its commands at the same time: if SIGTERM, SIGINT or SIGHUP has \
            ended a command, or it exits with 128 plus the number of such a signal (143, 130, 129), and 'work' gets a \
            signal before or within 1s, the command has not failed, and its message is given back.

            As a service, 'work' needs a unit that signals only 'work' (KillMode=mixed) and waits for the longest job, \
            such as the template notifyd-worker@.service. The unit notifyd-worker@NAME works on the durable \
            subscription NAME. Its settings PATTERNS, COMMAND and OPTIONS are in /etc/notifyd/workers/NAME or, for a \
            user's own services, in ~/.config/notifyd/workers/NAME.

            EXAMPLES
              notifyctl work 'images.uploaded' --durable resize -- ./resize
              notifyctl work 'jobs.>' --durable w --group --parallel 4 -- ./job
              systemctl enable --now notifyd-worker@resize

            UNIT
              [Service]
              ExecStart=notifyctl work 'images.uploaded' --durable resize --group -- resize
              KillMode=mixed
              TimeoutStopSec=90
              Restart=on-failure
            """)

    @OptionGroup var connection: ConnectionOptions

    @Argument(help: "Patterns of names. A message that matches several is delivered once.")
    var patterns: [String]

    @Option(
        help: ArgumentHelp(
            "The durable subscription to work on; it is created if it does not exist.", valueName: "name"),
        completion: DurableCommand.nameCompletion)
    var durable: String

    @OptionGroup var subscription: SubscriptionOptions

    @OptionGroup(title: "Settings of a new durable subscription") var settings: DurableSettingsOptions

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "The maximum number of commands that run at the same time, 1 to 1024; 1 by default.", valueName: "number"),
        transform: { try CountArgument.count($0) })
    var parallel = 1

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            """
            End a command that runs longer: SIGTERM to its process group, and SIGKILL after 10s. The delivery has \
            failed, unless the command still exits with 0, 65 or 75.
            """,
            valueName: "span"),
        transform: { try SpanArgument.span($0) })
    var timeout: Duration?

    @Flag(help: "Print the name of the message before each line of a command's output.")
    var prefix = false

    var program: [String] = []

    private enum CodingKeys: CodingKey {
        case connection, patterns, durable, subscription, settings, parallel, timeout, prefix
    }

    func validate() throws {
        try UserNames.check(patterns)
        guard (1...1024).contains(parallel) else { throw ValidationError("--parallel must be 1 to 1024") }
        if let timeout, timeout <= .zero { throw ValidationError("--timeout must be longer than 0") }
    }

    func run() async throws {
        guard !program.isEmpty else {
            throw CommandFailure(.usage, "the command to run is missing: add it after '--', such as '-- ./resize'")
        }
        try DescriptorLimit.raise(forParallel: parallel, isPrefixed: prefix)
        let runner = try WorkRunner(
            configuration: connection.configuration(), patterns: patterns,
            kind: .durable(
                durable, from: subscription.from ?? .now, sharing: subscription.sharing, settings: settings.settings,
                takesOver: subscription.takeover),
            object: subscription.object, parallel: parallel,
            runner: JobRunner(program, timeout: timeout, isPrefixed: prefix, keepsErrors: true))
        // Only after the program was found, so that a missing program is reported first.
        try await ExistingSubscription.reportIgnored(
            by: durable, settings: settings.settings, start: subscription.from, sharing: subscription.sharing,
            configuration: connection.configuration())
        try await runner.run()
    }
}
