import ArgumentParser
import Glibc
import NotifyClient

@main
struct Notifyctl: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "notifyctl",
        abstract: "Post and receive messages through notifyd.",
        discussion: """
            The daemon's socket is that of --socket, else of NOTIFYD_SOCKET, else the user's socket if it exists, else the \
            system's.

            Exit status: 0 success, 64 wrong usage, 69 no daemon, 77 refused, 124 timed out, 127 the \
            command of work, wait or subscribe --exec can't be started, 1 any other failure. If the \
            reader of the output, such as head, exits, the command exits silently: with 0, or with 1 if lines remained to \
            be posted.

            Arguments must be UTF-8, except the content of a post, which may be any bytes.

            EXAMPLES
              notifyctl subscribe 'orders.>'
                  Print the messages whose names begin with 'orders.'.
              notifyctl post orders.created 'order 42'
                  Post a message.
            """,
        version: NotifyClient.version,
        subcommands: [
            PostCommand.self, SubscribeCommand.self, LogCommand.self, PurgeCommand.self, DurableCommand.self,
            WorkCommand.self, WaitCommand.self, DeadCommand.self, PingCommand.self, StatsCommand.self,
            PolicyCommand.self, ReloadCommand.self, CheckCommand.self, BenchCommand.self, DoctorCommand.self,
            ClientsCommand.self, SubscriptionsCommand.self, NamesCommand.self, MonitorCommand.self,
            TraceCommand.self, TopCommand.self, BackupCommand.self,
        ])

    /// Also declared here, so that the options may precede the subcommand.
    @OptionGroup var connection: ConnectionOptions

    /// Runs the command. Isolated to the main actor, because a hop to another executor would start threads of Dispatch
    /// before the standard descriptors are reserved and `LIBDISPATCH_LOG` is set.
    @MainActor static func main() async {
        StandardDescriptors.reserve()
        // Dispatch raises the priority of its manager thread. Only root may do so. For other users, Dispatch would
        // write a line to the system's log at each run.
        setenv("LIBDISPATCH_LOG", "NO", 1)
        // With SIGPIPE ignored, a write to a pipe without a reader fails with EPIPE instead of ending the process.
        signal(SIGPIPE, SIG_IGN)
        let arguments = CommandArguments.process
        do {
            try arguments.checkOptions()
            try UnknownCommand.check(arguments.strings)
            var command = try ProgramArguments.parse(arguments.strings)
            let post = command as? PostCommand
            try arguments.check(except: post?.body)
            // Check this before anything is posted or created: the result could not be printed.
            if post?.quiet != true { try StandardOutput.checkIsOpen() }
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
        } catch {
            end(with: error)
        }
    }

    /// Exits with the status for an error, after one line on standard error. Requested help and versions are printed in
    /// full.
    private static func end(with error: any Error) -> Never {
        switch error {
        case let failure as CommandFailure:
            let failure = failure.message.flatMap { CommandArguments.process.failure(quotedIn: $0) } ?? failure
            if let message = failure.message { StandardError.write(message) }
            Glibc.exit(failure.status.rawValue)
        case is StandardOutput.Failure:
            // The work is done, but the reader of the output has closed it.
            Glibc.exit(ExitStatus.success.rawValue)
        case let error as NotifyError:
            StandardError.write(error.message + advice(for: error))
            Glibc.exit(ExitStatus(error).rawValue)
        default:
            guard exitCode(for: error) == .validationFailure else { exit(withError: error) }
            let message = message(for: error)
            if let failure = CommandArguments.process.failure(quotedIn: message) { end(with: failure) }
            StandardError.write("\(completed(message)) (see '\(helpCommand)')")
            Glibc.exit(ExitStatus.usage.rawValue)
        }
    }

    /// What to do about an error of the client, to append to its message; empty if the message tells it.
    static func advice(for error: NotifyError) -> String {
        switch error.code {
        case .noDaemon: "; 'notifyctl doctor' reports why"
        case .unknownSubscription: "; 'notifyctl durable list' shows those of all users, and --user names another owner"
        default: ""
        }
    }

    /// The parser's message, with the expected form of a number, which it does not name. The messages of arguments in
    /// other forms have a description after the quoted option.
    static func completed(_ message: String) -> String {
        guard message.hasPrefix("The value '"), message.hasSuffix("'"),
            let option = message.dropLast().lastIndex(of: "'"), message[..<option].hasSuffix("' is invalid for ")
        else { return message }
        return "\(message): expected a number"
    }

    /// The command that prints the help of the subcommand in the arguments.
    private static var helpCommand: String {
        var command: any ParsableCommand.Type = Self.self
        var words = [command._commandName]
        for argument in CommandLine.arguments.dropFirst() {
            guard let next = command.configuration.subcommands.first(where: { $0._commandName == argument }) else {
                continue
            }
            words.append(argument)
            command = next
        }
        return words.joined(separator: " ") + " --help"
    }
}
