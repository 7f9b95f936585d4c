import ArgumentParser
import NotifyClient

struct TopCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "top",
        abstract: "Watch the daemon, its clients and subscriptions, and the posted names.",
        discussion: """
            On a terminal, shows the figures of the daemon and a table, and updates them until 'q' is pressed. Keys:

              \(TopView.all.map { "\($0.key) " }.joined())Tab: switch the view (\(viewNames))
              < > or left right: choose the column to sort by
              r: reverse the order
              w: show all columns, as with --wide
              /: show only rows that contain a text; Escape shows all
              up down PgUp PgDn: scroll
              h: show the keys
              q: quit

            Without a terminal, or with --plain or --count, prints the figures and the table after each \
            interval. Rates cover the time since the previous report. The views list the clients and subscriptions of \
            this user or, with the right to manage everything, of every user, and the names that this user may \
            receive. The help of the commands clients, subscriptions and names explains the columns. \
            \(TableOptions.discussion)

            EXAMPLES
              notifyctl top
              notifyctl top --view subscriptions --interval 5s
              notifyctl top --plain --count 2 --sort DROPPED/S
            """)

    private static let intervals = Duration.milliseconds(100)...(.seconds(86_400))

    private static let viewNames = TopView.all.map(\.name).joined(separator: ", ")

    @OptionGroup var connection: ConnectionOptions

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("The time between two reports, at least 100ms; 1s by default.", valueName: "span"),
        transform: { try SpanArgument.span($0) })
    var interval = Duration.seconds(1)

    @Option(
        help: ArgumentHelp("The view to begin with, one of \(viewNames).", valueName: "view"),
        completion: .list(TopView.all.map(\.name)))
    var view = TopView.clients.name

    @Option(
        help: ArgumentHelp("The title of the column to sort by.", valueName: "column"),
        completion: .list(Set(TopView.all.flatMap { $0.columns.map(\.title) }).sorted()))
    var sort: String?

    @Option(help: ArgumentHelp("Show only rows that contain this text.", valueName: "text"))
    var filter: String?

    @OptionGroup var table: TableOptions

    @Flag(help: "Print lines, even on a terminal.")
    var plain = false

    @Option(
        name: .shortAndLong, parsing: .unconditional,
        help: ArgumentHelp("Print lines, and exit after this number of reports.", valueName: "number"),
        transform: { try CountArgument.count($0) })
    var count: Int?

    func validate() throws {
        guard Self.intervals.contains(interval) else {
            throw ValidationError("--interval must be 100ms to 1d")
        }
        if let count, count < 1 { throw ValidationError("--count must be at least 1") }
        let view = try TopView.all[viewIndex()]
        if let longest = view.longestInterval, interval > longest {
            throw ValidationError("--interval must be at most \(SpanArgument.text(longest)) for \(view.name)")
        }
        _ = try order(of: view)
    }

    private func viewIndex() throws -> Int {
        guard let index = TopView.all.firstIndex(where: { $0.name == view }) else {
            throw ValidationError("--view must be one of \(Self.viewNames)")
        }
        return index
    }

    private func order(of view: TopView) throws -> TopOrder {
        var order = TopOrder(view)
        if let sort {
            guard let column = view.columns.firstIndex(where: { $0.title == sort.uppercased() }) else {
                let titles = view.columns.map(\.title).joined(separator: ", ")
                throw ValidationError("--sort must be a column of \(view.name): \(titles)")
            }
            order.select(column, of: view)
        }
        order.filter = filter ?? ""
        return order
    }

    func run() async throws {
        var configuration = connection.configuration()
        // The table must report a lost connection soon.
        configuration.connectionWait = .seconds(1)
        configuration.closingTimeout = Interruption.closingLimit
        let index = try viewIndex()
        let view = TopView.all[index]
        let order = try order(of: view)
        guard !plain, count == nil, let terminal = Terminal() else {
            return try await TopLines(
                view: view, order: order, interval: interval, count: count, style: { [table] in table.style }
            ).run(configuration: configuration)
        }
        let state = TopState(view: index, order: order, isWide: table.wide)
        let session = LiveSession<TopState>(terminal: terminal, interval: interval) { client, name in
            try await client.report(of: TopView.all.first { $0.name == name } ?? view)
        }
        try await session.run(configuration) { client in (state, try await client.report(of: view)) }
    }
}
