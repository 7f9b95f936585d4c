import CGNU
import Glibc
import NotifyClient

/// The answer to a message, which the termination of its command determines.
enum JobOutcome: Equatable {
    case done
    /// The message is given back, and no failure is counted.
    case givenBack
    /// The delivery has failed.
    case failed(reason: String)
    /// A signal that stops services has ended the command. If notifyctl is stopped, too, the message is given back, and
    /// no failure is counted. Otherwise the delivery has failed. `settled(by:)` decides.
    case stopped(reason: String)
    /// The message becomes a dead letter at once.
    case deadLetter(reason: String)
    /// The message is given back, no failure is counted, and no other command is started.
    case notStarted(reason: String)

    /// The exit statuses of a command, as sysexits.h names them.
    private static let temporaryFailure: Int32 = 75
    private static let dataError: Int32 = 65

    /// The signals that stop services. A shell reports such a signal as the exit status 128 plus the number.
    private static let stopSignals = [SIGTERM, SIGINT, SIGHUP]

    /// The time for which the answer to a message waits after its command was stopped: a signal to all processes of a
    /// service may reach the command before notifyctl.
    static let stopWait = Duration.seconds(1)

    /// - Parameter timeout: The time after which the command was ended; nil if it ended by itself. The exit statuses 0,
    ///   65 and 75 are an answer even after the timeout.
    init(_ termination: ProgramProcess.Termination, timedOutAfter timeout: Duration? = nil) {
        switch termination {
        case .exited(0): self = .done
        case .exited(Self.temporaryFailure): self = .givenBack
        case .exited(Self.dataError): self = .deadLetter(reason: "exit status \(Self.dataError)")
        case _ where timeout != nil:
            self = .failed(reason: "timed out after \(Self.text(timeout ?? .zero))")
        case .exited(let status) where status == 126 || status == 127:
            self = .notStarted(reason: "exit status \(status)")
        case .exited(let status):
            let reason = "exit status \(status)"
            self = Self.stopSignals.contains(status - 128) ? .stopped(reason: reason) : .failed(reason: reason)
        case .signaled(let signal):
            let reason = "ended by signal \(signal) (\(Self.name(ofSignal: signal)))"
            self = Self.stopSignals.contains(signal) ? .stopped(reason: reason) : .failed(reason: reason)
        case .unknown: self = .failed(reason: "its exit status is unknown")
        }
    }

    /// Decides a stopped command: the outcome stays `stopped` if notifyctl is stopped within `stopWait`, and becomes
    /// `failed` otherwise. Returns other outcomes at once.
    func settled(by interruption: Interruption, clock: some Clock<Duration> = ContinuousClock()) async -> JobOutcome {
        guard case .stopped(let reason) = self else { return self }
        return await interruption.wait(atMost: Self.stopWait, clock: clock) == nil ? .failed(reason: reason) : self
    }

    /// The outcome with the end of the command's standard error, in lines after the reason of a failure.
    func adding(errors: String) -> JobOutcome {
        guard !errors.isEmpty else { return self }
        return switch self {
        case .failed(let reason): .failed(reason: "\(reason)\n\(errors)")
        case .deadLetter(let reason): .deadLetter(reason: "\(reason)\n\(errors)")
        case .stopped(let reason): .stopped(reason: "\(reason)\n\(errors)")
        case .done, .givenBack, .notStarted: self
        }
    }

    /// The reason why the command has failed; nil for success.
    var failureReason: String? {
        switch self {
        case .done: nil
        case .givenBack: "exit status \(Self.temporaryFailure)"
        case .failed(let reason), .deadLetter(let reason), .notStarted(let reason), .stopped(let reason):
            reason
        }
    }

    /// The line to print if the command for a message has failed.
    static func report(_ reason: String, of message: NotificationClient.Message) -> String {
        // The other lines were printed on standard error before.
        let first = reason.prefix { $0 != "\n" }
        return "the command for message \(message.sequence) '\(message.name)' has failed: \(first)"
    }

    /// A time in seconds, to the nanosecond and without superfluous decimals. Not the text of a `Double`, which has an
    /// exponent if the time is short.
    static func text(_ span: Duration) -> String {
        let (seconds, attoseconds) = span.components
        let nanoseconds = attoseconds / 1_000_000_000
        guard nanoseconds > 0 else { return "\(seconds) s" }
        // The leading 1 keeps the zeros after the point.
        var decimals = String(nanoseconds + 1_000_000_000).dropFirst()
        while decimals.last == "0" { decimals.removeLast() }
        return "\(seconds).\(decimals) s"
    }

    private static func name(ofSignal signal: Int32) -> String {
        guard let name = sigabbrev_np(signal) else { return "unknown" }
        return "SIG" + String(cString: name)
    }
}
