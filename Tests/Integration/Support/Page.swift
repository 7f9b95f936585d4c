import Foundation

/// A page of the documentation in Markdown.
struct Page: Sendable, CustomStringConvertible {
    let path: String
    let text: String

    /// - Parameter path: The path within the repository.
    init(_ path: String) throws {
        self.path = path
        text = try String(contentsOfFile: Programs.repository + "/" + path, encoding: .utf8)
    }

    var description: String { path }

    /// The README, and the articles about the programs and the client library.
    static let all: [Page] = {
        do {
            let catalogs = ["notifyd", "notifyctl", "NotifyClient"].map { "Sources/\($0)/\($0).docc" }
            let articles = try catalogs.flatMap { catalog in
                try FileManager.default.contentsOfDirectory(atPath: Programs.repository + "/" + catalog).sorted()
                    .map { "\(catalog)/\($0)" }
            }
            return try (["README.md"] + articles).map { try Page($0) }
        } catch {
            preconditionFailure("\(error)")
        }
    }()

    /// A block of code, without its fences.
    struct Block {
        /// Empty if the block names none.
        var language: String
        var lines: [String]
        var text: String { lines.map { $0 + "\n" }.joined() }
    }

    /// The blocks of code, in order.
    var blocks: [Block] { parts.blocks }

    /// The text between the blocks of code.
    var prose: String { parts.prose }

    private var parts: (blocks: [Block], prose: String) {
        var blocks: [Block] = []
        var prose = ""
        var isInBlock = false
        for line in text.components(separatedBy: "\n") {
            if line.hasPrefix("```") {
                isInBlock.toggle()
                if isInBlock { blocks.append(Block(language: String(line.dropFirst(3)), lines: [])) }
            } else if isInBlock {
                blocks[blocks.count - 1].lines.append(line)
            } else {
                prose += line + "\n"
            }
        }
        return (blocks, prose)
    }

    /// A command of a session, and its output.
    struct Command {
        var text: String
        var output: String
    }

    /// The commands of all sessions, in order, except sessions that need the script `./job` of the reader.
    var commands: [Command] { blocks.flatMap { $0.needsJob ? [] : $0.commands } }
}

extension Page.Block {
    var needsJob: Bool { text.contains("./job") }

    /// The commands of a session; none for a block in another language.
    var commands: [Page.Command] {
        guard language == "console" else { return [] }
        return lines.reduce(into: []) { commands, line in
            if line.hasPrefix("$ ") {
                commands.append(Page.Command(text: String(line.dropFirst(2)), output: ""))
            } else if !commands.isEmpty {
                commands[commands.count - 1].output += line + "\n"
            }
        }
    }
}
