import ArgumentParser
import Glibc
import NotifyClient
import NotifySystem
import NotifyUnits

@main
struct Notifyctl: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "notifyctl",
        abstract: "Post and receive messages through notifyd.",
        discussion: """
            The daemon's socket is --socket, else NOTIFYD_SOCKET, else the user's socket if it exists, else the \
            system's socket.

            After a signal, a command waits at most 3s for the daemon's last answers. NOTIFYCTL_ANSWER_TIMEOUT, such as \
            1m, lets a slow daemon answer later, also otherwise.

            Arguments must be UTF-8, except the content of a post, which may be any bytes.

            EXIT STATUS
            \(ExitStatus.table)

            \(ExitStatus.signals)

            A command whose output can't be written, because its reader has exited or the disk is full, ends with 1 and a \
            line on standard error.

            EXAMPLES
              notifyctl subscribe 'orders.>'
                  Print the messages whose names begin with 'orders.'.
              notifyctl post orders.created 'order 42'
                  Post a message.
            """,
        version: NotificationClient.version,
        subcommands: [
            PostCommand.self, SubscribeCommand.self, WaitCommand.self, LogCommand.self, PurgeCommand.self,
            GetCommand.self, ClearCommand.self, DurableCommand.self, WorkCommand.self, DeadCommand.self,
            RequestCommand.self, ServeCommand.self, AnnounceCommand.self,
            PingCommand.self, ReloadCommand.self, PolicyCommand.self, CheckCommand.self, BackupCommand.self,
            StatsCommand.self, ClientsCommand.self,
            SubscriptionsCommand.self, NamesCommand.self, MonitorCommand.self, TraceCommand.self, TopCommand.self,
            BenchCommand.self, DoctorCommand.self,
        ])

    /// Also declared here, so that the options may precede the subcommand.
    @OptionGroup var connection: ConnectionOptions

    /// Runs the command. Isolated to the main actor, because a hop to another executor would start threads of Dispatch
    /// before the standard descriptors are reserved and `LIBDISPATCH_LOG` is set.
    @MainActor static func main() async {
        BoundProgram.becomeProgram(.process)
        StandardDescriptors.reserve()
        // Dispatch raises the priority of its manager thread. Only root may do so. For other users, Dispatch would
        // write a line to the system's log at each run.
        setenv("LIBDISPATCH_LOG", "NO", 1)
        // With SIGPIPE ignored, a write to a pipe without a reader fails with EPIPE instead of ending the process.
        signal(SIGPIPE, SIG_IGN)
        // If the parent of notifyctl ignores SIGCHLD, the kernel reaps the commands, and exit statuses are lost.
        signal(SIGCHLD, SIG_DFL)
        let arguments = CommandArguments.process
        do {
            try arguments.checkOptions()
            try UnknownCommand.check(arguments.strings)
            var command = try ProgramArguments.parse(
                EmptyValue.separated(arguments.strings, help: help(for: arguments.strings)))
            try arguments.check(except: (command as? any ContentTaking)?.body)
            try AnswerTimeout.check()
            // Check this before anything is posted or created: the result could not be printed.
            if (command as? PostCommand)?.quiet != true { try StandardOutput.checkIsOpen() }
            if let command = command as? any PatternTaking {
                for text in PatternWarning.texts(command.patterns) { StandardError.write(text) }
            }
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
    static func end(with error: any Error) -> Never {
        switch error {
        case let failure as CommandFailure:
            let failure = failure.message.flatMap { CommandArguments.process.failure(quotedIn: $0) } ?? failure
            if let message = failure.message { StandardError.write(message) }
            Glibc.exit(failure.status.rawValue)
        case StandardOutput.Failure.readerClosed: end(with: CommandFailure.readerClosed)
        case let error as NotifyError:
            StandardError.write(error.message + advice(for: error))
            Glibc.exit(ExitStatus(error).rawValue)
        case _ where exitCode(for: error) == .success: printRequested(fullMessage(for: error))
        default:
            guard exitCode(for: error) == .validationFailure else { exit(withError: error) }
            let arguments = CommandArguments.process.strings
            let help = help(for: arguments)
            let message = UnknownOption.message(behind: message(for: error), arguments, help: help)
            if let failure = CommandArguments.process.failure(quotedIn: message) { end(with: failure) }
            let completed = UnknownOption.completed(completed(message), help: help)
            StandardError.write("\(completed) (see '\(helpCommand)')")
            Glibc.exit(ExitStatus.usage.rawValue)
        }
    }

    /// Prints help, a version or a completion script. The parser would ignore an error of the write.
    private static func printRequested(_ text: String) -> Never {
        do {
            let isScript = CommandArguments.process.strings.contains("--generate-completion-script")
            let commands = configuration.subcommands.map { command in
                CompletionScript.Command(
                    name: command._commandName, subcommands: command.configuration.subcommands.map { $0._commandName })
            }
            var output = StandardOutput()
            output.append((isScript ? CompletionScript.completed(text, commands: commands) : text) + "\n")
            try output.flush()
        } catch {
            end(with: error)
        }
        Glibc.exit(ExitStatus.success.rawValue)
    }

    /// The advice to append to the message of a client's error; empty if the message contains it.
    static func advice(for error: NotifyError) -> String {
        switch error.code {
        case .noDaemon: "; 'notifyctl doctor' reports why"
        case .unknownSubscription where error.message.contains(" has no durable subscription "):
            "; 'notifyctl durable list' shows those that you may see; with the right to manage everything, --user "
                + "names another owner"
        default: ""
        }
    }

    /// The parser's message, with the expected form appended if the argument must be a number. The messages about other
    /// arguments have the expected form already, after the quoted option.
    static func completed(_ message: String) -> String {
        guard message.hasPrefix("The value '"), message.hasSuffix("'"),
            let option = message.dropLast().lastIndex(of: "'"), message[..<option].hasSuffix("' is invalid for ")
        else { return message }
        return "\(message): expected a number"
    }

    /// The command that prints the help of the subcommand in the arguments.
    private static var helpCommand: String { path(CommandArguments.process.strings).words + " --help" }

    /// The help of the subcommand in the arguments.
    static func help(for arguments: [String]) -> String {
        helpMessage(for: path(arguments).command, columns: 200)
    }

    /// The subcommand in the arguments, and the words that select it.
    private static func path(_ arguments: [String]) -> (command: any ParsableCommand.Type, words: String) {
        var command: any ParsableCommand.Type = Self.self
        var words = [command._commandName]
        for argument in arguments {
            guard let next = command.configuration.subcommands.first(where: { $0._commandName == argument }) else {
                continue
            }
            words.append(argument)
            command = next
        }
        return (command, words.joined(separator: " "))
    }
}
