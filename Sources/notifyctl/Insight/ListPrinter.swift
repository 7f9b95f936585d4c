import Glibc
import NotifyClient

/// The items that a command listed at one time.
struct Look<Item: Sendable>: Sendable {
    let items: [Item]
    let time: ContinuousClock.Instant
}

/// Lists items of the daemon, once or after each interval, as a table or as JSON.
struct ListPrinter<Item: Sendable>: Sendable {
    let options: ListOptions
    /// The time between two requests.
    var interval = Duration.seconds(1)
    /// Whether the daemon begins to count with the first request. The answer to that request is not printed.
    var needsPreparation = false
    /// Printed on standard error after a single list without items.
    var emptyNotice: String?
    /// Requests the items from the daemon.
    let fetch: @Sendable (NotifyClient) async throws -> [Item]
    /// Makes a table of the listed items. Its rates are since the earlier ``Look``, which is nil for the first table.
    let table: @Sendable (_ look: Look<Item>, _ earlier: Look<Item>?) -> Table
    /// Writes the JSON object of an item.
    let json: @Sendable (Item, inout JSONWriter) -> Void

    func run(configuration: NotifyClient.Configuration) async throws {
        try await withNotifyClient(configuration: configuration) { client in
            var earlier: Look<Item>?
            var isFirst = true
            if needsPreparation {
                earlier = Look(items: try await fetch(client), time: .now)
                try await Task.sleep(for: interval)
            }
            repeat {
                let look = Look(items: try await fetch(client), time: .now)
                var output = StandardOutput()
                append(
                    look, earlier, isFirst: isFirst, to: &output, screen: options.watch ? Screen.current : nil)
                try output.flush()
                if let emptyNotice, look.items.isEmpty, !options.watch { StandardError.write(emptyNotice) }
                (earlier, isFirst) = (look, false)
                if options.watch { try await Task.sleep(for: interval) }
            } while options.watch
        }
    }

    /// Appends the listed items to the output.
    ///
    /// - Parameters:
    ///   - isFirst: Whether no items were printed before.
    ///   - screen: The terminal on which to redraw a table in place; nil to append it.
    private func append(
        _ look: Look<Item>, _ earlier: Look<Item>?, isFirst: Bool, to output: inout StandardOutput, screen: Screen?
    ) {
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
            if !isFirst { output.append("\n") }
            for line in lines { output.append("\(line)\n") }
        }
    }
}

/// The size of a terminal, in characters.
struct Screen: Equatable, Sendable {
    var rows: Int
    var columns: Int

    /// The terminal at standard output; nil if there is none, or if it has less than two rows.
    static var current: Screen? {
        guard isatty(STDOUT_FILENO) == 1, let screen = of(STDOUT_FILENO), screen.rows > 1 else { return nil }
        return screen
    }

    /// The size of the terminal at a descriptor; nil if it is not known.
    static func of(_ descriptor: Int32) -> Screen? {
        var size = winsize()
        guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_row > 0, size.ws_col > 0 else { return nil }
        return Screen(rows: Int(size.ws_row), columns: Int(size.ws_col))
    }

    /// The output that replaces the content of the terminal by the lines. Lines that do not fit are cut; a last line
    /// reports how many are missing.
    func redrawing(_ lines: [String]) -> String {
        var shown = lines
        if lines.count > rows - 1 {
            shown = lines.prefix(rows - 2) + ["and \(lines.count - rows + 2) more"]
        }
        // Moves the cursor to the top, erases each row before writing it, and erases the rows below. Erasing a full row
        // after writing it would remove its last column, because the cursor is still there.
        return "\u{1B}[H" + shown.map { "\u{1B}[K\($0.prefix(columns))\n" }.joined() + "\u{1B}[J"
    }
}
