import ArgumentParser
import NotifyClient

struct NamesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "names",
        abstract: "List the names of current posts, with rates.",
        discussion: """
            Prints one line for each name posted since the command began: the accepted posts, their rate, the bytes of \
            their payloads, the messages dropped because subscribers were too slow, and the numbers of connections and \
            durable subscriptions that received the latest post. Without --watch, the command counts for the time of \
            --interval. The most posted names come first.

            Only names that this user may receive are listed. The daemon counts only while a client requests the \
            counts, and for at most 16,384 names.

            EXAMPLES
              notifyctl names
              notifyctl names --interval 5s
              notifyctl names --watch
              notifyctl names --json
            """)

    @OptionGroup var connection: ConnectionOptions
    @OptionGroup var options: ListOptions

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "The time between two tables, and before the first one, at most 9s; 1s by default.", valueName: "span"),
        transform: { try SpanArgument.span($0) })
    var interval = Duration.seconds(1)

    func validate() throws {
        // The daemon stops counting after 10 seconds without a request.
        guard interval > .zero, interval <= .seconds(9) else {
            throw ValidationError("--interval must be above 0 and at most 9s")
        }
    }

    func run() async throws {
        let printer = ListPrinter<NotifyClient.NameStatus>(
            options: options, interval: interval, needsPreparation: true,
            emptyNotice: "no posts in the time of --interval (\(SpanArgument.text(interval)))",
            fetch: { try await $0.names() },
            table: { Self.table($0, since: $1) }, json: { Self.write($0, to: &$1) })
        try await printer.run(configuration: connection.configuration())
    }

    static func table(
        _ look: Look<NotifyClient.NameStatus>, since earlier: Look<NotifyClient.NameStatus>?
    ) -> Table {
        var table = Table([
            .number("POSTS"), .number("POSTS/S"), .number("BYTES"), .number("DROPPED"), .number("SUBSCRIBERS"),
            .number("DURABLES"), .text("NAME"),
        ])
        let earlierPosts = Dictionary(
            (earlier?.items ?? []).map { ($0.name, $0.posts) }, uniquingKeysWith: { first, _ in first })
        for name in look.items.sorted(by: isBefore) {
            let rate = earlier.map {
                "\(Quantities.rate(from: earlierPosts[name.name] ?? 0, to: name.posts, in: look.time - $0.time))"
            }
            table.append([
                "\(name.posts)", rate ?? Table.none, Quantities.bytes(name.payloadBytes), "\(name.dropped)",
                "\(name.subscribers)", "\(name.durableSubscriptions)", name.name,
            ])
        }
        return table
    }

    private static func isBefore(_ one: NotifyClient.NameStatus, _ other: NotifyClient.NameStatus) -> Bool {
        one.posts == other.posts ? one.name < other.name : one.posts > other.posts
    }

    static func write(_ name: NotifyClient.NameStatus, to json: inout JSONWriter) {
        json.object { json in
            json.member("name", name.name)
            json.member("posts", name.posts)
            json.member("payload_bytes", name.payloadBytes)
            json.member("dropped", name.dropped)
            json.member("subscribers", name.subscribers)
            json.member("durables", name.durableSubscriptions)
        }
    }
}
