import ArgumentParser

/// The arguments for a length of time, such as that of `--deadline`.
enum SpanArgument {
    /// The units, and their milliseconds, from the longest to the shortest.
    private static let units: [(name: String, milliseconds: Int64)] = [
        ("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1),
    ]

    /// The longest length of time, in milliseconds: 1000 days.
    private static let maximumMilliseconds: Int64 = 1000 * 86_400_000

    /// Reads a length of time: `0`, or a whole number and a unit, such as `500ms`, `30s`, `5m`, `2h` or `7d`; at most
    /// 1000 days.
    ///
    /// - Throws: `ValidationError` that lists the forms or names the limit. ArgumentParser prepends the option and the
    ///   value to the message.
    static func span(_ text: String) throws -> Duration {
        if text == "0" { return .zero }
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        let unit = text.dropFirst(digits.count)
        guard digits.count <= 9, let number = Int64(digits), let found = units.first(where: { $0.name == unit }) else {
            throw ValidationError("expected 0, or a number with a unit, such as 500ms, 30s, 5m, 2h or 7d")
        }
        guard number <= maximumMilliseconds / found.milliseconds else {
            throw ValidationError("expected at most 1000d")
        }
        return .milliseconds(number * found.milliseconds)
    }

    /// Reads lengths of time, separated by commas.
    static func spans(_ text: String) throws -> [Duration] {
        try text.split(separator: ",", omittingEmptySubsequences: false).map { try span(String($0)) }
    }

    /// The length of time as an argument, in the longest unit of which it is a multiple. Rounded up to milliseconds,
    /// because `0` means that there is no limit.
    static func text(_ span: Duration) -> String {
        let (seconds, attoseconds) = span.components
        let milliseconds = seconds * 1_000 + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
        guard milliseconds != 0, let unit = units.first(where: { milliseconds % $0.milliseconds == 0 }) else {
            return "0"
        }
        return "\(milliseconds / unit.milliseconds)\(unit.name)"
    }

    static func text(_ spans: [Duration]) -> String {
        spans.map { text($0) }.joined(separator: ",")
    }
}
