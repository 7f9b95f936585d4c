import ArgumentParser
import FoundationEssentials
import Glibc
import NotifyClient

/// The arguments for a position in the log, such as the value of `--from`.
enum PositionArgument {
    static let completion = CompletionKind.list(["now", "oldest", "today", "yesterday"])

    /// The forms of a position, for the discussion of a command.
    static let forms = """
        'now', 'oldest', a sequence such as 4711 or seq:4711, an age such as 90s, 1h30m, 1.5h or 7d, or a time such as \
        2026-11-22T12:00:00Z, '12:00 +01:00', @1795348800 (seconds since 1970) or, in local time, '2026-11-22 12:00', \
        2026-11-22, 12:00, today, yesterday or 'yesterday 12:00', which must not be in the future
        """

    /// The seconds by which a time may be ahead of the clock. The daemon tolerates the same.
    private static let toleratedSeconds = 5.0

    /// Reads a position, relative to the current time and in the time zone of this process.
    ///
    /// - Throws: `ValidationError` for a text of another form, and for a time in the future. ArgumentParser prepends
    ///   the option and the value to the message.
    static func start(_ text: String) throws -> NotificationClient.Start {
        let now = time(nil)
        let position: NotificationClient.Start?
        do {
            position = try PositionParser(now: now, zone: .system).position(text)
        } catch {
            throw ValidationError(error.description)
        }
        guard let start = position else { throw ValidationError("expected \(forms)") }
        if case .time(let time) = start, time.timeIntervalSince1970 > Double(now) + toleratedSeconds {
            throw ValidationError(
                "the time is in the future; give a time that has passed, or 'now' for the end of the log")
        }
        return start
    }
}
