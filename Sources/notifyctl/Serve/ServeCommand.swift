import ArgumentParser
import NotifyClient

struct ServeCommand: AsyncParsableCommand, ProgramRunning, PatternTaking {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Run a command for each request, and reply with its output.",
        usage: "notifyctl serve [<options>] <patterns> ... -- <command> [<arguments> ...]",
        discussion: """
            The command gets the content of the request on standard input, and in its environment NOTIFY_NAME, \
            NOTIFY_TIME, NOTIFY_UID, NOTIFY_PID and, for each header, NOTIFY_HEADER_<KEY>: in upper case, with '_' in \
            place of other bytes than letters and digits. Its standard output is the reply. No shell is involved: for \
            shell syntax, run 'sh -c'.

            The exit status of the command decides:

              0         standard output is the reply
              75        the command has done nothing: another server gets the request
              126, 127  the command can't be started: another server gets the request,
                        and 'serve' ends with 127
              other     the request has failed: the asker gets the exit status and the
                        last 1 KiB of standard error; also if a signal has ended the
                        command

            When the time limit of a request has passed, or its asker has ended, the command gets SIGTERM, and SIGKILL \
            after 10s.

            Several servers of one user may serve the same names: the one with the most free commands gets the next \
            request. Requests wait in the daemon while none has a free command. By default, a user may serve the names \
            that begin with 'user.' and the own uid; root and the user of the daemon may serve every name. Other names \
            need a rule in the policy: see 'notifyctl policy test serve'. While another user serves some of the names, \
            'serve' is refused with status 75.

            SIGTERM, SIGINT and SIGHUP end 'serve' when the running commands have exited and their replies are sent; a \
            second signal is passed on to these commands.

            EXAMPLES
              notifyctl serve 'user.1000.uptime' -- uptime
              notifyctl serve 'images.resize' --parallel 4 -- convert - -resize 50% -
            """)

    @OptionGroup var connection: ConnectionOptions

    @Argument(help: "Patterns of the names to serve.")
    var patterns: [String]

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "The maximum number of commands that run at the same time, 1 to 1024; 1 by default.", valueName: "number"),
        transform: { try CountArgument.count($0) })
    var parallel = 1

    var program: [String] = []

    private enum CodingKeys: CodingKey {
        case connection, patterns, parallel
    }

    func validate() throws {
        try UserNames.check(patterns)
        guard (1...1024).contains(parallel) else { throw ValidationError("--parallel must be 1 to 1024") }
    }

    func run() async throws {
        guard !program.isEmpty else {
            throw CommandFailure(.usage, "the command to run is missing: add it after '--', such as '-- uptime'")
        }
        try DescriptorLimit.raise(forParallel: parallel, isPrefixed: true)
        let runner = try JobRunner(program, keepsErrors: true)
        let server = CommandServer(
            configuration: connection.configuration(), patterns: patterns, parallel: parallel, runner: runner)
        try await runner.run(server) {
            if let reason = server.failedStart { return runner.failure(notStarted: reason) }
            return CommandFailure(.failure, "notifyd does not answer, so the end of the server is not confirmed")
        }
    }
}
