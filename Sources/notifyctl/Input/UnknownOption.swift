/// Suggests an option for an unknown option of another program or of another command. The parser only suggests options
/// of similar spelling.
enum UnknownOption {
    private static let meanings: [(option: String, meant: [String])] = [
        ("--since", ["--from"]), ("--start", ["--from"]), ("--after", ["--from"]), ("--from-beginning", ["--from"]),
        ("--seq", ["--from"]), ("--until", ["--to", "--before"]), ("--end", ["--to"]), ("--tail", ["--follow"]),
        ("--lines", ["--limit", "--count"]), ("-n", ["--limit", "--count"]), ("--max", ["--limit", "--count"]),
        ("--number", ["--limit", "--count"]), ("--output", ["--format"]), ("--template", ["--format"]),
        ("--consumer", ["--durable"]), ("--subscription", ["--durable"]), ("--queue", ["--group"]),
        ("--shared", ["--group"]), ("--workers", ["--parallel"]), ("--jobs", ["--parallel"]), ("-j", ["--parallel"]),
        ("--retries", ["--max-deliveries"]), ("--attempts", ["--max-deliveries"]), ("--ack-wait", ["--deadline"]),
        ("--backoff", ["--retry-after"]), ("--uid", ["--user"]), ("--owner", ["--user"]),
        ("--persist", ["--durability"]),
        ("--sync", ["--durability"]), ("--stored", ["--durability"]), ("--input", ["--file"]),
        ("--silent", ["--quiet"]),
        ("--count", ["--limit"]), ("--limit", ["--count"]), ("--to", ["--before"]), ("--before", ["--to"]),
        ("--key", ["--object"]), ("--force", ["--yes", "--takeover"]), ("--wait", ["--timeout"]),
        ("--yes", ["--force"]), ("--name", ["--durable"]), ("--from", ["--to"]),
    ]

    /// The parser's message, with a suggestion if one is known.
    ///
    /// - Parameter help: The help of the command, which lists its options.
    static func completed(_ message: String, help: String) -> String {
        let prefix = "Unknown option '"
        guard message.hasPrefix(prefix) else { return message }
        let option = message.dropFirst(prefix.count).prefix { $0 != "'" && $0 != "=" }
        let meant = meanings.first { $0.option == option }?.meant.first { has($0, help) }
        if let meant { return "\(prefix)\(option)'. Did you mean '\(meant)'?" }
        // The parser may suggest an option that has little in common with the unknown one. Such a suggestion is
        // removed.
        let suggestion = message.split(separator: "'").dropFirst(3).first.map(String.init) ?? ""
        let distance = UnknownCommand.distance(String(option), suggestion)
        return distance * 3 > suggestion.count ? "\(prefix)\(option)'" : message
    }

    /// The parser's message, or a message about an unknown option. The parser may take the value of an unknown option
    /// for an argument of the command, and report it as invalid. It may also report a missing option although the user
    /// gave it under another name.
    static func message(behind message: String, _ arguments: [String], help: String) -> String {
        let isValue = message.hasPrefix("The value '") && message.contains("' is invalid for '<")
        guard isValue || message.hasPrefix("Missing expected argument '") else { return message }
        let option = arguments.prefix { $0 != "--" }.lazy.compactMap(option).first { !has($0, help) }
        return option.map { "Unknown option '\($0)'" } ?? message
    }

    /// The option that an argument names: two hyphens and a name, or a hyphen and one letter. Nil for other arguments.
    private static func option(_ argument: String) -> String? {
        if argument.hasPrefix("--") { return String(argument.prefix { $0 != "=" }) }
        let isShort = argument.count == 2 && argument.hasPrefix("-") && argument.last?.isLetter == true
        return isShort ? argument : nil
    }

    private static func has(_ option: String, _ help: String) -> Bool {
        help.split(whereSeparator: { " ,\n[]".contains($0) }).contains(Substring(option))
    }
}
