import ArgumentParser

/// The output options of commands that list objects of the daemon, such as clients.
struct ListOptions: ParsableArguments {
    /// The effect of the options, for the discussion of a command.
    static let discussion = """
        --watch prints the list again after each interval. On a terminal and without --json, it takes the whole \
        screen: arrows, PgUp, PgDn, Home and End scroll, 'w' shows all columns and 'q' quits. \(TableOptions.discussion)
        """

    private static let intervals = Duration.milliseconds(100)...(.seconds(86_400))

    @Flag(help: "Print one JSON object for each line of the table, on a line of its own.")
    var json = false

    @Flag(help: "Print the list repeatedly, after each --interval.")
    var watch = false

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("The time between two lists, at least 100ms; 1s by default.", valueName: "span"),
        transform: { try SpanArgument.span($0) })
    var interval: Duration?

    @OptionGroup var table: TableOptions

    var intervalOrDefault: Duration { interval ?? .seconds(1) }

    func validate() throws {
        if let interval, !Self.intervals.contains(interval) {
            throw ValidationError("--interval must be 100ms to 1d")
        }
    }

    /// Refuses `--interval` without `--watch`, for a command whose single list needs no interval.
    func checkInterval() throws {
        if interval != nil, !watch { throw ValidationError("--interval needs --watch") }
    }
}
