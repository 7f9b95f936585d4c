import CGNU
import Glibc
import NotifyClient
import Subprocess

/// The answer to a message, from the termination of its command.
enum JobOutcome: Equatable {
    case done
    /// The message is given back, uncounted.
    case givenBack
    /// The delivery failed.
    case rejected(reason: String)
    /// The message becomes a dead letter at once.
    case failed(reason: String)
    /// The message is given back, uncounted, and no other command is started.
    case notStarted(reason: String)

    /// The exit statuses of a command, as sysexits.h names them.
    private static let temporaryFailure: Int32 = 75
    private static let dataError: Int32 = 65

    /// - Parameter timeout: The time after which the command was ended; nil if it ended before. A command that then
    ///   still exits with a status that is an answer has answered.
    init(_ status: TerminationStatus, timedOutAfter timeout: Duration? = nil) {
        switch status {
        case .exited(0): self = .done
        case .exited(Self.temporaryFailure): self = .givenBack
        case .exited(Self.dataError): self = .failed(reason: "exit status \(Self.dataError)")
        case _ where timeout != nil:
            self = .rejected(reason: "timed out after \(Self.text(timeout ?? .zero))")
        case .exited(let status) where status == 126 || status == 127:
            self = .notStarted(reason: "exit status \(status)")
        case .exited(let status): self = .rejected(reason: "exit status \(status)")
        case .signaled(let signal):
            self = .rejected(reason: "ended by signal \(signal) (\(Self.name(ofSignal: signal)))")
        }
    }

    /// Why the command has failed; nil if it has not.
    var failureReason: String? {
        switch self {
        case .done: nil
        case .givenBack: "exit status \(Self.temporaryFailure)"
        case .rejected(let reason), .failed(let reason), .notStarted(let reason): reason
        }
    }

    /// What to print if the command for a message has failed.
    static func report(_ reason: String, of message: NotifyClient.Message) -> String {
        "the command for message \(message.sequence) '\(message.name)' has failed: \(reason)"
    }

    /// A time in seconds. Whole seconds have no decimals.
    static func text(_ span: Duration) -> String {
        let seconds = span / .seconds(1)
        return Int(exactly: seconds).map { "\($0) s" } ?? "\(seconds) s"
    }

    private static func name(ofSignal signal: Int32) -> String {
        guard let name = sigabbrev_np(signal) else { return "unknown" }
        return "SIG" + String(cString: name)
    }
}
