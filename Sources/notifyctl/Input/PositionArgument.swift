import ArgumentParser
import Glibc
import NotifyClient

/// The arguments for a position in the log, such as that of `--from`.
enum PositionArgument {
    static let completion = CompletionKind.list(["now", "oldest", "today", "yesterday"])

    /// The forms of a position, for the discussion of a command.
    static let forms = """
        'now', 'oldest', a sequence, an age such as 90s, 15m, 2h or 7d, or a time such as 2026-11-22T12:00:00Z, \
        2026-11-22T12:00+01:00 or, in local time, '2026-11-22 12:00', 2026-11-22, 12:00, today, yesterday or \
        'yesterday 12:00'
        """

    /// Reads a position, relative to the current time and in the time zone of this process.
    ///
    /// - Throws: `ValidationError` that lists the forms. ArgumentParser prepends the option and the value to the
    ///   message.
    static func start(_ text: String) throws -> NotifyClient.Start {
        guard let start = PositionParser(now: time(nil), zone: .system).position(text) else {
            throw ValidationError("expected \(forms)")
        }
        return start
    }
}
