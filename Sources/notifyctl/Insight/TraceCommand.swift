import ArgumentParser
import NotifyClient

struct TraceCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "trace",
        abstract: "Print a stored message and its state in each durable subscription.",
        discussion: """
            Prints the message, then one line for each durable subscription whose patterns and object match it: its \
            name, its user, the state of the message in it, and the client that is attached now. The states are:

              acknowledged  acknowledged, or skipped as forbidden
              in flight     delivered to the attached client and not acknowledged yet
              pending       to be delivered; with 'seen' if a client may have received it
              before start  posted before the subscription began
              forbidden     the policy does not let the owner receive it

            Times are printed in UTC. Without the right to manage, the lines are those of this user's subscriptions. Volatile messages, and \
            deliveries to volatile subscriptions, can't be traced: see 'notifyctl monitor'.

            EXAMPLES
              notifyctl trace 4711
              notifyctl trace 4711 --json
            """)

    @OptionGroup var connection: ConnectionOptions

    @Argument(help: "The sequence of the message, as in its receipt.")
    var sequence: UInt64

    @Flag(help: "Print one JSON object.")
    var json = false

    func run() async throws {
        let trace = try await withNotifyClient(configuration: connection.configuration()) { client in
            try await client.trace(sequence)
        }
        var output = StandardOutput()
        output.append(json ? Self.json(trace) + "\n" : Self.text(trace))
        try output.flush()
    }

    static func text(_ trace: NotifyClient.Trace) -> String {
        var lines = [PostPrinter.words(trace.message).joined(separator: " ")]
        if trace.subscriptions.isEmpty { return Table.printable(lines[0]) + "\nno durable subscription matches\n" }
        var table = Table([
            .text("DURABLE"), .text("USER"), .text("STATE"), .number("CLIENT"), .number("PID"), .text("PROGRAM"),
        ])
        let users = UserNames.names(of: trace.subscriptions.map(\.uid))
        for subscription in trace.subscriptions {
            table.append([
                subscription.name, users[subscription.uid] ?? "\(subscription.uid)", state(subscription),
                subscription.client.map { "\($0)" } ?? Table.none, subscription.pid.map { "\($0)" } ?? Table.none,
                subscription.pid.flatMap(ProcessNames.program) ?? Table.none,
            ])
        }
        lines[0] = Table.printable(lines[0])
        return (lines + table.lines).map { $0 + "\n" }.joined()
    }

    private static func state(_ subscription: NotifyClient.Trace.Subscription) -> String {
        switch subscription.state {
        case .acknowledged: "acknowledged"
        case .inFlight: "in flight"
        case .pending: subscription.mayHaveBeenSeen ? "pending, seen" : "pending"
        case .beforeStart: "before start"
        case .forbidden: "forbidden"
        }
    }

    static func json(_ trace: NotifyClient.Trace) -> String {
        var json = JSONWriter()
        json.object { json in
            PostPrinter.write(trace.message, to: &json)
            json.key("subscriptions")
            json.array { json in
                for subscription in trace.subscriptions {
                    json.object { json in
                        json.member("durable", subscription.name)
                        json.member("uid", subscription.uid)
                        json.member("state", subscription.state.rawValue)
                        json.member("may_have_been_seen", subscription.mayHaveBeenSeen)
                        json.optionalMember("client", subscription.client)
                        json.optionalMember("pid", subscription.pid)
                    }
                }
            }
        }
        return String(decoding: json.bytes, as: UTF8.self)
    }
}
