import ArgumentParser

/// The check that the first words of the arguments are commands. Without the check, the parser would report an unknown
/// command, and all arguments after it, as unexpected. After `help`, the parser would ignore an unknown command.
enum UnknownCommand {
    /// The maximum edit distance of a suggested command from a word of more than four characters. For shorter words it
    /// is 1.
    private static let maximumDistance = 2

    /// For commands of other programs: the commands of notifyctl with the same purpose.
    private static let meanings: [String: [String]] = [
        "pub": ["post"], "publish": ["post"], "send": ["post"], "emit": ["post"], "put": ["post"], "produce": ["post"],
        "sub": ["subscribe"], "listen": ["subscribe"], "consume": ["subscribe"], "receive": ["subscribe"],
        "tail": ["subscribe"], "read": ["log"], "fetch": ["log"], "history": ["log"], "cat": ["log"],
        "ls": ["list"], "create": ["durable"], "status": ["stats"], "rm": ["remove", "purge"],
        "delete": ["remove", "purge"], "remove": ["purge"], "add": ["create"], "new": ["create"], "make": ["create"],
        "presence": ["announce"], "present": ["announce"], "will": ["announce"], "lwt": ["announce"],
        "ephemeral": ["announce"], "register": ["announce"], "update": ["edit"], "change": ["edit"], "rename": ["edit"],
        "info": ["show"], "describe": ["show"],
    ]

    /// - Throws: `CommandFailure` that names the unknown command and, if there is a similar command, suggests it.
    static func check(_ arguments: [String]) throws(CommandFailure) {
        var command: any ParsableCommand.Type = Notifyctl.self
        var path = "notifyctl"
        var words = arguments[...]
        while !command.configuration.subcommands.isEmpty, let word = words.popFirst() {
            switch word {
            case "--socket": _ = words.popFirst()
            case _ where word.hasPrefix("--socket="): continue
            case "help" where command == Notifyctl.self: continue
            // The parser reports unknown options, and prints the help and the version.
            case _ where word.hasPrefix("-"): return
            default:
                let commands = command.configuration.subcommands
                guard let next = commands.first(where: { $0._commandName == word }) else {
                    throw failure(word, commands.map { $0._commandName }, path)
                }
                command = next
                path += " \(word)"
            }
        }
    }

    private static func failure(_ word: String, _ commands: [String], _ path: String) -> CommandFailure {
        let distances = commands.map { (command: $0, distance: distance(word, $0)) }
        let nearest = distances.min { $0.distance < $1.distance }
        let isNear = nearest.map { $0.distance <= (word.count > 4 ? maximumDistance : 1) } ?? false
        let meaning = meanings[word]?.first { commands.contains($0) }
        let suggestion = (meaning ?? (isNear ? nearest?.command : nil)).map { "; did you mean '\($0)'?" } ?? ""
        return CommandFailure(.usage, "unknown command '\(word)'\(suggestion) (see '\(path) --help')")
    }

    /// The edit distance of two words: the number of insertions, removals, replacements and swaps of neighbours.
    static func distance(_ one: String, _ other: String) -> Int {
        let (one, other) = (Array(one.prefix(64)), Array(other))
        var rows = [Array(0...other.count)]
        for i in 1..<(one.count + 1) {
            var row = [i]
            for j in 1..<(other.count + 1) {
                let isEqual = one[i - 1] == other[j - 1]
                var best = min(rows[i - 1][j] + 1, row[j - 1] + 1, rows[i - 1][j - 1] + (isEqual ? 0 : 1))
                if i > 1, j > 1, one[i - 1] == other[j - 2], one[i - 2] == other[j - 1] {
                    best = min(best, rows[i - 2][j - 2] + 1)
                }
                row.append(best)
            }
            rows.append(row)
        }
        return rows[one.count][other.count]
    }
}
