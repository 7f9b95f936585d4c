import ArgumentParser
import NotifyClient

/// The exit statuses of notifyctl, the same in every command. The statuses from 64 to 78 have the meanings of
/// sysexits.h.
enum ExitStatus: Int32, CaseIterable {
    case success = 0
    case failure = 1
    case usage = 64
    case invalidData = 65
    case unreadableInput = 66
    case noDaemon = 69
    case refusedForNow = 75
    case forbidden = 77
    case invalidConfiguration = 78
    case timeout = 124
    /// The file of the command of `announce` can't be executed.
    case notExecutable = 126
    /// The command of `announce`, `work`, `serve`, `wait` or `subscribe --exec` can't be started.
    case notStarted = 127

    /// A command that a signal has ended is reported as this status plus the number of the signal, as in a shell.
    static let signalBase: Int32 = 128

    /// The status of a command that ends with an error.
    init(_ error: any Error) {
        self =
            switch error {
            case let error as NotifyError: Self(error.code)
            case let failure as CommandFailure: failure.status
            case is ValidationError: .usage
            default: .failure
            }
    }

    private init(_ code: NotifyError.Code) {
        self =
            switch code {
            case .invalidName, .invalidPattern, .invalidHeaders, .invalidSubscriptionName, .invalidArgument,
                .invalidSocketPath:
                .usage
            case .payloadTooLarge, .invalidObject, .coding: .invalidData
            case .noDaemon, .notConnected, .connectionLost, .daemonClosing, .noResponders: .noDaemon
            case .limitReached, .logFull, .storageFailed, .logDamaged, .serverGone, .valueInUse,
                .serviceHeld:
                .refusedForNow
            case .forbidden: .forbidden
            case .configurationInvalid: .invalidConfiguration
            case .timedOut, .requestTimedOut: .timeout
            default: .failure
            }
    }

    /// The meaning of the status, for the help.
    private var meaning: String {
        switch self {
        case .success: "success"
        case .failure: "any other failure; also an unknown outcome, except that of a request"
        case .usage: "wrong usage"
        case .invalidData: "invalid data: too large, or not UTF-8 where it must be"
        case .unreadableInput: "the input can't be opened or read"
        case .noDaemon: "no daemon, or the connection to it was lost; no server for a request"
        case .refusedForNow: "refused for now: storage, a limit, a value in use; a request may have run"
        case .forbidden: "this user lacks the right"
        case .invalidConfiguration: "the daemon's configuration has an error"
        case .timeout: "timed out"
        case .notExecutable: "the file of the command of announce can't be executed"
        case .notStarted: "the command of announce, work, serve, wait or --exec can't be started"
        }
    }

    /// All statuses, as lines for the help.
    static let table = allCases.map { status in
        let number = "\(status.rawValue)"
        return "  \(number)\(String(repeating: " ", count: 5 - number.count))\(status.meaning)"
    }.joined(separator: "\n")

    /// The effect of SIGINT and SIGTERM on each command, for the help.
    static let signals = """
        After SIGINT or SIGTERM, a command that runs without end exits with 0: subscribe, work, serve, \
        announce without a command, post --ephemeral, log --follow, monitor, top and --watch. With --count or --limit, they exit with 1 if they are not complete yet. log without --follow \
        or --summary, wait, get, bench, backup and post --lines also exit with 1 if they are not complete. announce \
        passes them on to its command. Every other \
        command is killed by the signal: a shell reports the status 128 plus the number of the signal.
        """
}

/// An error that ends the command with a status and, if set, one line on standard error.
struct CommandFailure: Error {
    var status: ExitStatus
    var message: String?

    init(_ status: ExitStatus, _ message: String? = nil) {
        self.status = status
        self.message = message
    }

    /// The error of every command whose output can't be written.
    static func unwritable(_ reason: String) -> CommandFailure {
        CommandFailure(.failure, "can't write to standard output: \(reason)")
    }
    /// The error of a command that a signal has ended.
    static let incomplete = CommandFailure(.failure, "ended by a signal before everything was printed")
    /// The error of every command whose output was closed by its reader.
    static let readerClosed = unwritable("its reader has closed it")
}
