import ArgumentParser
import Glibc
import NotifyClient

struct ClientsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "clients",
        abstract: "List the connected clients of this user or, with the right to manage everything, of every user.",
        discussion: """
            Prints one line for each client: the number of its connection, its user and process, the program that this \
            process runs now, the messages that were dropped because the client was too slow, and the memory of the \
            output that waits until the client reads. The next columns are the number of its subscriptions, its \
            accepted posts, and the messages queued for it. The last columns, which --wide shows, are the time since \
            the client connected, and its refused requests. All counts begin when the client connects; --watch adds \
            rates per second. The list contains this command itself.

            \(ListOptions.discussion)

            EXAMPLES
              notifyctl clients
              notifyctl clients --watch
              notifyctl clients --json
            """)

    @OptionGroup var connection: ConnectionOptions
    @OptionGroup var options: ListOptions

    func validate() throws { try options.checkInterval() }

    func run() async throws {
        let showsRates = options.watch
        let printer = ListPrinter<Administration.ClientStatus>(
            options: options, title: "clients", fetch: { try await $0.administration.clients() },
            table: { Self.table($0, since: $1, showsRates: showsRates, now: UInt64(time(nil))) },
            json: { Self.write($0, to: &$1) })
        try await printer.run(configuration: connection.configuration())
    }

    /// - Parameter now: The time in seconds since 1970.
    static func table(
        _ look: Look<Administration.ClientStatus>, since earlier: Look<Administration.ClientStatus>?,
        showsRates: Bool,
        now: UInt64
    ) -> Table {
        let rateColumns: [Table.Column] = showsRates ? [.number("POSTS/S"), .number("DELIVERED/S")] : []
        var table = Table(
            [.number("CLIENT"), .text("USER"), .number("PID"), .text("PROGRAM")] + rateColumns
                + [.number("DROPPED"), .number("WAITING")]
                + ["SUBS", "POSTS", "DELIVERED"].map { .number($0).wide(if: showsRates) }
                + [.number("CONNECTED").wide, .number("REFUSED").wide])
        let users = UserNames.names(of: look.items.map(\.uid))
        let earlierItems = Dictionary(
            (earlier?.items ?? []).map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
        for client in look.items {
            let seconds = client.connectedMicroseconds / 1_000_000
            var cells = [
                "\(client.id)", users[client.uid] ?? "\(client.uid)", "\(client.pid)",
                ProcessNames.program(of: client.pid) ?? Table.none,
            ]
            if showsRates { cells += rates(client, since: earlierItems[client.id], look, earlier) }
            cells += [
                "\(client.dropped.addingReportingOverflow(client.droppedByClient).partialValue)",
                Quantities.bytes(client.waitingBytes), "\(client.subscriptionCount)", "\(client.posts)",
                "\(client.delivered)", Quantities.duration(seconds: now > seconds ? now - seconds : 0),
                "\(client.refused)",
            ]
            table.append(cells)
        }
        return table
    }

    private static func rates(
        _ client: Administration.ClientStatus, since earlier: Administration.ClientStatus?,
        _ look: Look<Administration.ClientStatus>, _ earlierLook: Look<Administration.ClientStatus>?
    ) -> [String] {
        guard let earlier, let earlierLook else { return [Table.none, Table.none] }
        return [(earlier.posts, client.posts), (earlier.delivered, client.delivered)].map { counts in
            "\(Quantities.rate(from: counts.0, to: counts.1, in: look.time - earlierLook.time))"
        }
    }

    static func write(_ client: Administration.ClientStatus, to json: inout JSONWriter) {
        json.object { json in
            json.member("client", client.id)
            json.member("uid", client.uid)
            json.member("user", UserNames.name(of: client.uid))
            json.member("gid", client.gid)
            json.member("pid", client.pid)
            json.member("program", ProcessNames.program(of: client.pid))
            json.member("connected", Timestamp.text(microseconds: client.connectedMicroseconds))
            json.member("subscriptions", client.subscriptionCount)
            json.member("posts", client.posts)
            json.member("delivered", client.delivered)
            json.member("dropped", client.dropped)
            json.member("dropped_by_client", client.droppedByClient)
            json.member("refused", client.refused)
            json.member("waiting_bytes", client.waitingBytes)
        }
    }
}
