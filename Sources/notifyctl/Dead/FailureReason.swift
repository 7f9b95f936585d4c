/// Formats the reason of a failed delivery. A reason from `notifyctl work` or `wait` begins with a line about the end
/// of the command: its exit status, its signal or the timeout. Further lines are the end of the command's standard
/// error.
enum FailureReason {
    private static let lineCharacters = 100

    /// The first and the last line, joined to one line and shortened to 100 characters.
    static func line(_ reason: String) -> String {
        let lines = reason.split(separator: "\n")
        guard let first = lines.first else { return Table.unknown }
        let text = lines.count > 1 ? "\(first): \(lines[lines.count - 1])" : String(first)
        return text.count > lineCharacters ? text.prefix(lineCharacters - 1) + "…" : text
    }

    /// All lines. Lines after the first one are indented, and control characters are replaced.
    static func block(_ reason: String, indent: Int) -> String {
        reason.split(separator: "\n", omittingEmptySubsequences: false).map { Table.printable(String($0)) }
            .joined(separator: "\n" + String(repeating: " ", count: indent))
    }
}
