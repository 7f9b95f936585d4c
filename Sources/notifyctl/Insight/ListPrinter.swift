import NotifyClient

/// The items that a command listed at one time.
struct Look<Item: Sendable>: Sendable {
    let items: [Item]
    let time: ContinuousClock.Instant
}

/// Lists items of the daemon, once or after each interval, as a table or as JSON.
struct ListPrinter<Item: Sendable>: Sendable {
    let options: ListOptions
    /// The kind of the items, for the status line of a terminal.
    let title: String
    /// Whether the daemon begins to count with the first request. The answer to that request is not printed.
    var needsPreparation = false
    /// Printed on standard error after a single list without items.
    var emptyNotice: String?
    /// Requests the items from the daemon.
    let fetch: @Sendable (NotificationClient) async throws -> [Item]
    /// Makes a table of the listed items. The rates cover the time since the earlier list. Without an earlier list, the
    /// table has no rates.
    let table: @Sendable (_ look: Look<Item>, _ earlier: Look<Item>?) -> Table
    /// Writes the JSON object of an item.
    let json: @Sendable (Item, inout JSONWriter) -> Void

    /// Lists the items.
    ///
    /// - Returns: The number of listed items; 0 with `--watch`.
    @discardableResult
    func run(configuration: NotificationClient.Configuration) async throws -> Int {
        guard options.watch else { return try await print(configuration) }
        var configuration = configuration
        // After an interruption the command must end soon, even if the daemon does not answer.
        configuration.closingTimeout = Interruption.closingLimit
        if !options.json, let terminal = Terminal() {
            try await show(on: terminal, configuration)
            return 0
        }
        configuration.onConnectionChange = ConnectionReporter().handler
        try await Interruption.run { [configuration] _ in _ = try await print(configuration) }
        return 0
    }

    /// If the daemon counts only on request, makes it begin to count, and waits for one interval.
    ///
    /// - Returns: The first list, from which rates are computed; nil if no such list is needed.
    private func prepare(_ client: NotificationClient) async throws -> Look<Item>? {
        guard needsPreparation else { return nil }
        let first = try await look(client)
        try await Task.sleep(for: options.intervalOrDefault)
        return first
    }

    private func look(_ client: NotificationClient) async throws -> Look<Item> {
        Look(items: try await fetch(client), time: .now)
    }

    /// Shows the list on the whole screen until the user quits.
    private func show(on terminal: Terminal, _ configuration: NotificationClient.Configuration) async throws {
        let session = LiveSession<WatchState<Item>>(terminal: terminal, interval: options.intervalOrDefault) {
            client, _ in
            try await look(client)
        }
        try await session.run(configuration) { client in
            let earlier = try await prepare(client)
            let state = WatchState(title: title, isWide: options.table.wide, earlier: earlier, table: table)
            return (state, try await look(client))
        }
    }

    private func print(_ configuration: NotificationClient.Configuration) async throws -> Int {
        try await withNotificationClient(configuration: configuration) { client in
            try await print(client, prepare(client))
        }
    }

    private func print(_ client: NotificationClient, _ earlier: Look<Item>?) async throws -> Int {
        var earlier = earlier
        var isFirst = true
        while true {
            do {
                let look = try await look(client)
                var output = StandardOutput()
                append(look, earlier, isFirst: isFirst, to: &output)
                try output.flush()
                if let emptyNotice, look.items.isEmpty, !options.watch { StandardError.write(emptyNotice) }
                (earlier, isFirst) = (look, false)
                guard options.watch else { return look.items.count }
            } catch let error as NotifyError where !isFirst && error.isTransient {
                // The daemon may have restarted, so the next list has no rates.
                earlier = nil
            }
            try await Task.sleep(for: options.intervalOrDefault)
        }
    }

    /// Appends the listed items to the output.
    ///
    /// - Parameter isFirst: Whether this is the first list.
    private func append(_ look: Look<Item>, _ earlier: Look<Item>?, isFirst: Bool, to output: inout StandardOutput) {
        guard !options.json else {
            for item in look.items {
                var writer = JSONWriter()
                json(item, &writer)
                output.gather { $0.append(contentsOf: writer.bytes) }
                output.append("\n")
            }
            return
        }
        if !isFirst { output.append("\n") }
        for line in table(look, earlier).lines(in: options.table.style) { output.append("\(line)\n") }
    }
}
