import Foundation

/// The commands of a program with their options, as the program itself lists them.
struct CommandTree: Sendable {
    let name: String
    let options: Set<String>
    let commands: [CommandTree]

    init(of program: String) async throws {
        let dump = try await Notifyctl(socket: nil).shell("\(program) --experimental-dump-help").output
        let root = try JSONSerialization.jsonObject(with: Data(dump.utf8)) as? [String: Any]
        self.init(root?["command"] as? [String: Any] ?? [:])
    }

    private init(_ command: [String: Any]) {
        let arguments = command["arguments"] as? [[String: Any]] ?? []
        name = command["commandName"] as? String ?? ""
        var options: Set<String> = []
        for option in arguments.flatMap({ $0["names"] as? [[String: String]] ?? [] }) {
            let dashes = option["kind"] == "long" ? "--" : "-"
            options.insert(dashes + (option["name"] ?? ""))
        }
        self.options = options
        commands = (command["subcommands"] as? [[String: Any]] ?? []).map(CommandTree.init)
    }

    /// Whether the program or one of its commands has this option.
    func hasOption(_ option: Substring) -> Bool {
        options.contains(String(option)) || commands.contains { $0.hasOption(option) }
    }

    /// Describes the first word that is not a command or an option of this program; nil if there is none.
    func problem(_ words: ArraySlice<Substring>) -> String? {
        guard let first = words.first else { return nil }
        if !commands.isEmpty, !first.hasPrefix("-"), first != first.uppercased() {
            guard let command = commands.first(where: { $0.name == first }) else { return "\(first) is no command" }
            // The words after 'help' name a command.
            return first == "help" ? problem(words.dropFirst()) : command.problem(words.dropFirst())
        }
        return words.prefix { $0 != "--" }.first { $0.hasPrefix("-") && $0.count > 1 && !hasOption($0) }
            .map { "\($0) is no option" }
    }
}
