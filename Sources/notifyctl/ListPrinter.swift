import Glibc
import NotifyClient

/// The items that a command listed at one time.
struct Look<Item: Sendable>: Sendable {
    let items: [Item]
    let time: ContinuousClock.Instant
}

/// Lists items of the daemon, once or every second, as a table or as JSON.
struct ListPrinter<Item: Sendable>: Sendable {
    let options: ListOptions
    /// Requests the items from the daemon.
    let fetch: @Sendable (NotifyClient) async throws -> [Item]
    /// Makes the table of a look. Rates compare it with the earlier look, which is nil for the first table.
    let table: @Sendable (_ look: Look<Item>, _ earlier: Look<Item>?) -> Table
    /// Writes the JSON object of an item.
    let json: @Sendable (Item, inout JSONWriter) -> Void

    func run(configuration: NotifyClient.Configuration) async throws {
        try await withNotifyClient(configuration: configuration) { client in
            var earlier: Look<Item>?
            repeat {
                let look = Look(items: try await fetch(client), time: .now)
                var output = StandardOutput()
                append(look, earlier, to: &output, screen: options.watch ? Screen.current : nil)
                try output.flush()
                earlier = look
                if options.watch { try await Task.sleep(for: .seconds(1)) }
            } while options.watch
        }
    }

    /// Appends a look to the output.
    ///
    /// - Parameter screen: The terminal on which to redraw a table in place; nil to append it.
    func append(_ look: Look<Item>, _ earlier: Look<Item>?, to output: inout StandardOutput, screen: Screen?) {
        guard !options.json else {
            for item in look.items {
                var writer = JSONWriter()
                json(item, &writer)
                output.gather { $0.append(contentsOf: writer.bytes) }
                output.append("\n")
            }
            return
        }
        let lines = table(look, earlier).lines
        if let screen {
            output.append(screen.redrawing(lines))
        } else {
            if earlier != nil { output.append("\n") }
            for line in lines { output.append("\(line)\n") }
        }
    }
}

/// The size of a terminal, in characters.
struct Screen: Equatable, Sendable {
    var rows: Int
    var columns: Int

    /// The terminal at standard output; nil if there is none.
    static var current: Screen? {
        var size = winsize()
        guard isatty(STDOUT_FILENO) == 1, ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_row > 1,
            size.ws_col > 0
        else { return nil }
        return Screen(rows: Int(size.ws_row), columns: Int(size.ws_col))
    }

    /// The output that replaces the content of the terminal by the lines. Lines that do not fit are cut; a last line
    /// says how many are missing.
    func redrawing(_ lines: [String]) -> String {
        var shown = lines
        if lines.count > rows - 1 {
            shown = lines.prefix(rows - 2) + ["and \(lines.count - rows + 2) more"]
        }
        // Cursor to the top; each line erases the rest of its row, and the end erases the rows below.
        return "\u{1B}[H" + shown.map { "\($0.prefix(columns))\u{1B}[K\n" }.joined() + "\u{1B}[J"
    }
}
