import CGNU
import Glibc
import SystemPackage

/// A program that gets SIGTERM when the thread that started it ends: at the latest when notifyctl ends, in whatever way.
///
/// The kernel sends this signal to a process that has requested it (`PR_SET_PDEATHSIG`), and `posix_spawn` can't make
/// such a request. So notifyctl runs itself with ``option``: that process makes the request, and then becomes the
/// program. The kernel drops the request if the program's file is set-user-ID, set-group-ID or has capabilities.
enum BoundProgram {
    /// The hidden first argument. The process id of the parent, the program's file, and the program's arguments with its
    /// name follow.
    private static let option = "---bound-to"

    /// Starts a program in the process group of notifyctl, with its standard streams and environment. A signal that
    /// notifyctl ignores, as under nohup, stays ignored.
    ///
    /// - Parameters:
    ///   - path: The file of the program.
    ///   - arguments: The name of the program and its arguments.
    static func start(_ path: String, _ arguments: [String]) throws(Errno) -> ProgramProcess {
        try ProgramProcess.start(
            "/proc/self/exe",
            arguments: (["notifyctl", option, "\(getpid())", path] + arguments).flatMap { Array($0.utf8) + [0] },
            environment: OwnEnvironment.entries.flatMap { $0 + [0] }, input: .standardInput, output: .standardOutput,
            error: .standardError, hasOwnGroup: false, keepsIgnoredSignals: true)
    }

    /// Becomes the program, if ``start(_:_:)`` has started this process. Otherwise returns.
    static func becomeProgram(_ arguments: CommandArguments) {
        guard arguments.strings.first == option else { return }
        let (parent, words) = (arguments.strings.dropFirst().first, arguments.strings.dropFirst(2))
        guard let parent, let path = words.first, let name = words.dropFirst().first else {
            Notifyctl.end(with: CommandFailure(.usage, "\(option) is for notifyctl itself"))
        }
        guard notifyctl_set_death_signal(SIGTERM) == 0 else { end(failure(name, Errno(rawValue: errno))) }
        // The parent may have ended before the request.
        guard parent == "\(getppid())" else { Glibc.exit(ExitStatus.signalBase + SIGTERM) }
        let strings = words.dropFirst().map { strdup($0) } + [nil]
        execv(path, strings)
        end(failure(name, Errno(rawValue: errno)))
    }

    private static func end(_ failure: CommandFailure) -> Never { Notifyctl.end(with: failure) }

    /// The error of a program that can't be started.
    static func failure(_ command: String, _ error: Errno) -> CommandFailure {
        CommandFailure(
            error == .noSuchFileOrDirectory ? .notStarted : .notExecutable,
            "the command '\(command)' can't be started: \(JobRunner.reason(error))")
    }
}
