import ArgumentParser
import Glibc

/// The options for the format of printed messages.
struct OutputOptions: ParsableArguments {
    /// The effect of the options, for the discussion of a command.
    static let discussion = """
        On a terminal, control characters of messages are replaced, unless --raw is given. \(TimeOptions.discussion)

        The fields of --format are \(FormatTemplate.Field.names). 'redelivered' is true if the message may have been \
        delivered before. With --json, a payload that is not UTF-8 is in payload_base64 in place of payload.
        """

    @Flag(name: .shortAndLong, help: "Print the name and a space before each payload.")
    var verbose = false

    @Flag(help: "Print one JSON object for each message.")
    var json = false

    @Option(
        name: .customLong("format"),
        help: ArgumentHelp(
            "Print each message as this text, in which {name} stands for the name and so on; \\n, \\t, \\0 and \\{ are "
                + "escapes.",
            valueName: "text"),
        transform: { try FormatTemplate($0) })
    var template: FormatTemplate?

    @Flag(help: "Print each message unchanged, even on a terminal, and without a newline after it.")
    var raw = false

    @Flag(name: [.customShort("0"), .long], help: "Print a NUL after each message instead of a newline.")
    var null = false

    @OptionGroup var time: TimeOptions

    func validate() throws {
        if [verbose, json, template != nil].count(where: { $0 }) > 1 {
            throw ValidationError("give only one of --verbose, --json and --format")
        }
        if raw, null { throw ValidationError("give --raw or --null, not both") }
    }

    /// The format that the options select.
    var messageFormat: MessageFormat {
        MessageFormat(
            content: template.map { .template($0) } ?? (json ? .json : verbose ? .nameAndPayload : .payload),
            terminator: raw ? nil : null ? 0 : UInt8(ascii: "\n"),
            replacesControls: !raw && isatty(STDOUT_FILENO) == 1, times: time.style)
    }
}
