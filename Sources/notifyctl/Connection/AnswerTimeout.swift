import Glibc
import NotifyClient
import NotifyUnits

/// The time that the daemon at least has for an answer, for a daemon with a slow disk or on a busy machine.
enum AnswerTimeout {
    /// The time without the variable `NOTIFYCTL_ANSWER_TIMEOUT`, which may lengthen it.
    private static let usual = Duration.seconds(3)
    private static let range = usual...Duration.seconds(3600)

    private static let setting = Result { () throws(CommandFailure) in
        try parse(getenv("NOTIFYCTL_ANSWER_TIMEOUT").map { String(cString: $0) })
    }

    /// The time that an interrupted command still waits for the daemon, for example for the confirmation of its
    /// acknowledgements.
    static var current: Duration { (try? setting.get()) ?? usual }

    /// - Throws: `CommandFailure` with `usage` if the variable has a wrong value.
    static func check() throws(CommandFailure) { _ = try setting.get() }

    /// - Throws: `CommandFailure` with `usage` if the value is not a time in the range.
    static func parse(_ value: String?) throws(CommandFailure) -> Duration {
        guard let value, !value.isEmpty else { return usual }
        guard let timeout = Quantity.duration(value), range.contains(timeout) else {
            let expectation = Quantity.expectation(of: range)
            throw CommandFailure(.usage, "the variable NOTIFYCTL_ANSWER_TIMEOUT is '\(value)': expected \(expectation)")
        }
        return timeout
    }

    /// Lengthens the time limits of a client that are shorter. They end after those of the command, whose message says
    /// more.
    static func lengthenLimits(of configuration: inout NotificationClient.Configuration) {
        let limit = current + .seconds(2)
        configuration.connectionWait = max(configuration.connectionWait, limit)
        configuration.requestTimeout = max(configuration.requestTimeout, limit)
        configuration.closingTimeout = max(configuration.closingTimeout, limit)
    }
}
