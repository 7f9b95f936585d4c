import ArgumentParser
import Glibc
import NotifyServer
import NotifySystem
import NotifyUnits
import NotifyWire

@main
struct Notifyd: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "notifyd",
        abstract: "A local message bus: publish and subscribe between the programs of this machine.",
        discussion: """
            Options override environment variables, which override the configuration file, which overrides the defaults.
            Every setting of the file except lists has a variable: limits.payload_bytes is NOTIFYD_LIMITS_PAYLOAD_BYTES.

            SIGTERM and SIGINT stop notifyd once everything is delivered or stored, at the latest after \
            timeouts.drain_seconds. SIGHUP reads the configuration again: \
            log_level, policy, log and limits take effect at once, except for log.checkpoint_bytes, limits.payload_bytes \
            and limits.per_connection.post_window. These and all other settings take effect at the next start. If a file \
            has an error, nothing changes. If the database was deleted or moved away, SIGHUP creates a new one.

            EXIT STATUS
              0   success, also of a daemon that SIGTERM or SIGINT has stopped
              1   any other failure: the reason is on standard error
              2   --check could not check the database
              64  wrong usage

            EXAMPLES
              notifyd
                  Serve this user's programs, or as root all of the system's.
              notifyd --socket /tmp/try.sock --database /tmp/try.db --log-level debug
                  Try it out, separate from any other notifyd.
              NOTIFYD_LIMITS_PAYLOAD_BYTES=65536 notifyd --config ./notifyd.yaml
                  Take the settings from a file, and one from the environment.
            """,
        version: notifydVersion)

    @Option(help: ArgumentHelp("Where clients connect, at most 107 bytes.", valueName: "path"))
    var socket: String?

    @Option(help: ArgumentHelp("Where messages are stored.", valueName: "path"))
    var database: String?

    @Option(
        name: .customLong("config"),
        help: ArgumentHelp(
            "The configuration file, which must exist. [/etc/notifyd/notifyd.yaml or ~/.config/notifyd/notifyd.yaml]",
            valueName: "file"))
    var configurationFile: String?

    @Option(
        help: ArgumentHelp(
            "The least severe records to log: debug shows connections, subscriptions and refusals, each with the peer's "
                + "uid and pid; trace shows every request as well. One of \(LogLevel.names).",
            valueName: "level"),
        completion: .list(LogLevel.allCases.map(\.rawValue)),
        transform: { text in
            guard let level = LogLevel(rawValue: text) else {
                throw ValidationError("expected one of \(LogLevel.names)")
            }
            return level
        })
    var logLevel: LogLevel?

    @Flag(
        help: """
            Read the configuration, print how many rules of the policy it has, and warnings, and exit: with 0 if it is \
            valid, else with 1 and the file and line.
            """)
    var checkConfig = false

    /// Runs on the main actor, so that no other code runs before `LIBDISPATCH_LOG` is set.
    @MainActor static func main() async {
        StandardDescriptors.reserve()
        // Dispatch tries to raise the priority of its manager thread, which only root may do. For other users, Dispatch
        // would write a line to the system's log at each start.
        setenv("LIBDISPATCH_LOG", "NO", 1)
        // With SIGPIPE ignored, a write to a closed pipe or socket fails with EPIPE instead of ending the process.
        signal(SIGPIPE, SIG_IGN)
        do {
            let arguments = arguments
            try checkValues(arguments)
            let command = try parse(arguments)
            try await command.run()
        } catch {
            end(with: error)
        }
    }

    /// Refuses an option with an empty value, such as `--socket=`.
    private static func checkValues(_ arguments: [String]) throws {
        for option in arguments.prefix(while: { $0 != "--" }).compactMap(EmptyValue.option) where option.hasPrefix("--")
        {
            throw ValidationError("\(option) has an empty value")
        }
    }

    /// The arguments of this process, without its name. Swift's runtime searches for the arguments beside the
    /// environment. It finds none if a constructor of a preloaded library has set an environment variable, because the
    /// environment has then moved. The kernel still has the arguments.
    private static var arguments: [String] {
        guard CommandLine.argc == 0, let file = fopen("/proc/self/cmdline", "re") else {
            return Array(CommandLine.arguments.dropFirst())
        }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        while case let byte = getc(file), byte != EOF { bytes.append(UInt8(truncatingIfNeeded: byte)) }
        // Each argument ends with a NUL.
        return bytes.split(separator: 0, omittingEmptySubsequences: false).dropLast().dropFirst()
            .map { String(decoding: $0, as: UTF8.self) }
    }

    /// Reports an error, and exits with its status. Wrong usage is reported on one line. Requested help and versions
    /// are printed in full.
    private static func end(with error: any Error) -> Never {
        switch exitCode(for: error) {
        case .success:
            do {
                // The parser would ignore an error of the write.
                try StandardOutput.print(fullMessage(for: error))
            } catch {
                report("\(error)")
                Glibc.exit(ExitCode.failure.rawValue)
            }
            Glibc.exit(ExitCode.success.rawValue)
        case .validationFailure: break
        default: exit(withError: error)
        }
        report("\(message(for: error)) (see 'notifyd --help')")
        Glibc.exit(ExitCode.validationFailure.rawValue)
    }

    private static func report(_ message: String) {
        let oneLine = String(message.map { $0.isNewline ? " " : $0 })
        let line = Array("notifyd: \(oneLine)\n".utf8)
        // Waits at most a second, because a blocked standard error must not keep the process from ending.
        var output = pollfd(fd: STDERR_FILENO, events: Int16(POLLOUT), revents: 0)
        guard poll(&output, 1, 1_000) == 1 else { return }
        _ = write(STDERR_FILENO, line, line.count)
    }

    @Flag(
        help: """
            Check the configuration, the socket and the files of the database as a start does, and the free space on \
            the disk. Change nothing, and exit: with 0 if notifyd can start or already runs, else with 1 and the reason.
            """)
    var checkStart = false

    @Option(
        help: ArgumentHelp(
            "Replace the database by a backup, print the result, and exit. notifyd must not be running. "
                + "The backup is checked first; the replaced database is kept under another name.",
            valueName: "file"))
    var restore: String?

    @Flag(
        help: """
            Check the database FILE, or the configured one, while no notifyd uses it: the checksum of every row, and, \
            unlike 'notifyctl check --full', its structure with indexes and free pages. Change nothing, print what is \
            sound and what is damaged, and exit: with 0 if it is sound, with 1 if it is damaged, with 2 if it can't be \
            checked.
            """)
    var check = false

    @Flag(
        help: """
            Write everything sound of the database FILE, or of the configured one, to a new file, while no notifyd uses \
            it. Print what is lost, and how to use the new file. The old one is not changed.
            """)
    var repair = false

    @Option(
        help: ArgumentHelp(
            "Where --repair writes; FILE.repaired by default. No file may exist there.", valueName: "path"))
    var to: String?

    @Argument(help: ArgumentHelp("The database for --check and --repair.", valueName: "FILE"))
    var file: String?

    func validate() throws {
        for (option, value) in [
            ("--socket", socket), ("--database", database), ("--config", configurationFile), ("--to", to),
            ("--restore", restore),
            (check ? "--check" : "--repair", file),
        ] where value == "" {
            throw ValidationError("\(option) needs a path")
        }
        if let file, !check, !repair {
            throw ValidationError("unexpected argument '\(file)': only --check and --repair take a file")
        }
        if check, repair { throw ValidationError("--check and --repair exclude each other") }
        if restore != nil, check || repair || checkConfig || checkStart {
            throw ValidationError("--restore excludes --repair and the checks")
        }
        if to != nil, !repair { throw ValidationError("--to is an option of --repair only") }
    }

    func run() async throws {
        let options = CommandLineOptions(
            socket: socket, database: database, configuration: configurationFile, logLevel: logLevel)
        do {
            if checkConfig {
                try StandardOutput.print(Daemon.checkConfiguration(options: options))
            } else if let restore {
                try StandardOutput.print(Restore.run(restore, options: options))
            } else if checkStart {
                try StandardOutput.print(StartCheck.run(options: options))
            } else if check {
                let (text, isSound) = try DatabaseCheck.run(file, options: options)
                try StandardOutput.print(text)
                if !isSound { throw ExitCode.failure }
            } else if repair {
                try StandardOutput.print(DatabaseCheck.repair(file, to: to, options: options))
            } else {
                try await Daemon.run(options: options)
            }
        } catch let code as ExitCode {
            throw code
        } catch {
            Self.report("\(error)")
            throw check ? ExitCode(2) : ExitCode.failure
        }
    }
}
