import ArgumentParser
import Glibc
import NotifyClient

struct ClientsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "clients",
        abstract: "List the connected clients of this user or, with the right to manage, of every user.",
        discussion: """
            Prints one line for each client: the number of its connection, its user and process, the program that this \
            process runs now, the time since it connected, and the number of its subscriptions. The next columns are \
            its accepted posts, the messages queued for it, those of them that were dropped because it was too slow, \
            its refused requests, and the memory of the output that waits until it reads. All counts begin when the \
            client connects; --watch adds rates per second. The list contains this command itself.

            EXAMPLES
              notifyctl clients
              notifyctl clients --watch
              notifyctl clients --json
            """)

    @OptionGroup var connection: ConnectionOptions
    @OptionGroup var options: ListOptions

    func run() async throws {
        let showsRates = options.watch
        let printer = ListPrinter<NotifyClient.ClientStatus>(
            options: options, fetch: { try await $0.clients() },
            table: { Self.table($0, since: $1, showsRates: showsRates, now: UInt64(time(nil))) },
            json: { Self.write($0, to: &$1) })
        try await printer.run(configuration: connection.configuration())
    }

    /// - Parameter now: The time in seconds since 1970.
    static func table(
        _ look: Look<NotifyClient.ClientStatus>, since earlier: Look<NotifyClient.ClientStatus>?, showsRates: Bool,
        now: UInt64
    ) -> Table {
        var columns: [Table.Column] = [
            .number("CLIENT"), .text("USER"), .number("PID"), .text("PROGRAM"), .number("CONNECTED"), .number("SUBS"),
            .number("POSTS"), .number("DELIVERED"), .number("DROPPED"), .number("REFUSED"), .number("WAITING"),
        ]
        if showsRates { columns += [.number("POSTS/S"), .number("DELIVERED/S")] }
        var table = Table(columns)
        let users = UserNames.names(of: look.items.map(\.uid))
        let earlierItems = Dictionary(
            (earlier?.items ?? []).map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
        for client in look.items {
            let seconds = client.connectedMicroseconds / 1_000_000
            var cells = [
                "\(client.id)", users[client.uid] ?? "\(client.uid)", "\(client.pid)",
                ProcessNames.program(of: client.pid) ?? Table.none,
                Quantities.duration(seconds: now > seconds ? now - seconds : 0), "\(client.subscriptionCount)",
                "\(client.posts)", "\(client.delivered)",
                "\(client.dropped.addingReportingOverflow(client.droppedByClient).partialValue)",
                "\(client.refused)", Quantities.bytes(client.waitingBytes),
            ]
            if showsRates { cells += rates(client, since: earlierItems[client.id], look, earlier) }
            table.append(cells)
        }
        return table
    }

    private static func rates(
        _ client: NotifyClient.ClientStatus, since earlier: NotifyClient.ClientStatus?,
        _ look: Look<NotifyClient.ClientStatus>, _ earlierLook: Look<NotifyClient.ClientStatus>?
    ) -> [String] {
        guard let earlier, let earlierLook else { return [Table.none, Table.none] }
        return [(earlier.posts, client.posts), (earlier.delivered, client.delivered)].map { counts in
            "\(Quantities.rate(from: counts.0, to: counts.1, in: look.time - earlierLook.time))"
        }
    }

    static func write(_ client: NotifyClient.ClientStatus, to json: inout JSONWriter) {
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
