import ArgumentParser
import Glibc
import NotifyClient

@main
struct Notifyctl: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "notifyctl",
        abstract: "Posts notifications through notifyd, and shows those that others post.",
        discussion: """
            The daemon's socket is the one given with --socket, else that in NOTIFYD_SOCKET, else the user's own if it is \
            there, else the system's.

            Exit status: 0 done, 64 wrong usage, 69 no daemon, 77 refused, 124 timeout reached, 1 anything else.

            EXAMPLES
              notifyctl subscribe 'orders.>'
                  Print what is posted under names that begin with 'orders.'.
              notifyctl post orders.created 'order 42'
                  Post a message.
            """,
        version: NotifyClient.version,
        subcommands: [
            PostCommand.self, SubscribeCommand.self, DurableCommand.self, PingCommand.self, StatsCommand.self,
        ])

    /// So that it may stand before the command, too.
    @OptionGroup var connection: ConnectionOptions

    /// On the main actor, so that nothing runs before its first lines.
    @MainActor static func main() async {
        StandardDescriptors.reserve()
        // A reader that has closed its end is reported by the write that fails.
        signal(SIGPIPE, SIG_IGN)
        do {
            var command = try parseAsRoot()
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
        } catch {
            end(with: error)
        }
    }

    /// Help and versions were asked for; everything else is one line that says what is wrong, and a status.
    private static func end(with error: any Error) -> Never {
        switch error {
        case let failure as CommandFailure:
            if let message = failure.message { StandardError.say(message) }
            Glibc.exit(failure.status.rawValue)
        case is StandardOutput.Failure:
            // As a program that SIGPIPE ends, without a word.
            Glibc.exit(ExitStatus.failure.rawValue)
        case let error as NotifyError:
            StandardError.say(error.message)
            Glibc.exit(ExitStatus(error).rawValue)
        default:
            guard exitCode(for: error) == .validationFailure else { exit(withError: error) }
            StandardError.say("\(message(for: error)) (see '\(helpCommand)')")
            Glibc.exit(ExitStatus.usage.rawValue)
        }
    }

    /// The command that explains the one that was meant.
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
