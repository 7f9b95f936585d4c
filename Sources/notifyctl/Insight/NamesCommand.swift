import ArgumentParser
import NotifyClient

struct NamesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "names",
        abstract: "List the names of current posts, with rates.",
        discussion: """
            Prints one line for each name posted since the command began: the accepted posts, their rate, the bytes of \
            their payloads, the messages dropped because subscribers were too slow, and the numbers of connections and, \
            with --wide, durable subscriptions that received the latest post. The command counts for the time of \
            --interval, at most 9s, before the first list. The most posted names come first.

            \(ListOptions.discussion)

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

    func validate() throws {
        // The daemon stops counting after 10 seconds without a request.
        if let interval = options.interval, interval > .seconds(9) {
            throw ValidationError("--interval must be at most 9s")
        }
    }

    func run() async throws {
        let printer = ListPrinter<Administration.NameStatus>(
            options: options, title: "names", needsPreparation: true,
            emptyNotice: "no posts in the time of --interval (\(SpanArgument.text(options.intervalOrDefault)))",
            fetch: { try await $0.administration.names() },
            table: { Self.table($0, since: $1) }, json: { Self.write($0, to: &$1) })
        try await printer.run(configuration: connection.configuration())
    }

    static func table(
        _ look: Look<Administration.NameStatus>, since earlier: Look<Administration.NameStatus>?
    ) -> Table {
        var table = Table([
            .text("NAME"), .number("POSTS"), .number("POSTS/S"), .number("BYTES"), .number("DROPPED"),
            .number("SUBSCRIBERS"), .number("DURABLES").wide,
        ])
        let earlierPosts = Dictionary(
            (earlier?.items ?? []).map { ($0.name, $0.posts) }, uniquingKeysWith: { first, _ in first })
        for name in look.items.sorted(by: isBefore) {
            let rate = earlier.map {
                "\(Quantities.rate(from: earlierPosts[name.name] ?? 0, to: name.posts, in: look.time - $0.time))"
            }
            table.append([
                name.name, "\(name.posts)", rate ?? Table.none, Quantities.bytes(name.payloadBytes),
                "\(name.dropped)", "\(name.subscribers)", "\(name.durableSubscriptions)",
            ])
        }
        return table
    }

    private static func isBefore(_ one: Administration.NameStatus, _ other: Administration.NameStatus) -> Bool {
        one.posts == other.posts ? one.name < other.name : one.posts > other.posts
    }

    static func write(_ name: Administration.NameStatus, to json: inout JSONWriter) {
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
