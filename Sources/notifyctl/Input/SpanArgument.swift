import ArgumentParser
import NotifyUnits

/// The arguments for a length of time, such as the value of `--deadline`.
enum SpanArgument {
    /// The longest length of time.
    private static let maximum = Duration.seconds(1000 * 86_400)

    /// Reads a length of time: a number of seconds, or numbers with units, such as `500ms`, `30s`, `1h30m` or `1.5h`;
    /// at most 1000 days.
    ///
    /// - Throws: `ValidationError` that lists the forms or names the limit. ArgumentParser prepends the option and the
    ///   value to the message.
    static func span(_ text: String) throws -> Duration {
        guard let span = Quantity.duration(text) else {
            throw ValidationError("expected \(Quantity.durationForms)")
        }
        guard span <= maximum else { throw ValidationError("expected at most 1000d") }
        return span
    }

    /// Reads lengths of time, separated by commas.
    static func spans(_ text: String) throws -> [Duration] {
        try text.split(separator: ",", omittingEmptySubsequences: false).map { try span(String($0)) }
    }

    /// The length of time as an argument. Rounded up to milliseconds, so that a short time does not become `0`, which
    /// means no limit.
    static func text(_ span: Duration) -> String { Quantity.describe(span) }

    static func text(_ spans: [Duration]) -> String {
        spans.map { text($0) }.joined(separator: ",")
    }
}
