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
              waiting       failed or given back, to be delivered again
              dead letter   given up; with the sequence of its dead letter once stored
              pending       to be delivered; with 'seen' if a client may have received it
              before start  posted before the subscription began
              forbidden     the policy does not let the owner receive it

            A dead letter that is deleted, or that you may not read, is shown as acknowledged. A dead letter that still \
            exists is shown as such although its message was acknowledged after a reset. Times are printed in UTC. Without \
            the right to manage, the lines are those of this user's subscriptions. Volatile messages, and deliveries to \
            volatile subscriptions, can't be traced: see 'notifyctl monitor'.

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
        let (trace, letters) = try await withNotifyClient(configuration: connection.configuration()) { client in
            let trace = try await client.trace(sequence)
            return (trace, try await Self.deadLetters(of: trace, client))
        }
        var output = StandardOutput()
        output.append(json ? Self.json(trace, letters) + "\n" : Self.text(trace, letters))
        try output.flush()
    }

    /// The sequences of stored dead letters, by subscription.
    typealias DeadLetters = [NotifyClient.Trace.Subscription: UInt64]

    /// Finds the dead letters of a message, which the daemon does not distinguish from acknowledged messages. Those that
    /// this user may not read are left out. Reads the dead letters of each user since the message once.
    private static func deadLetters(of trace: NotifyClient.Trace, _ client: NotifyClient) async throws -> DeadLetters {
        let acknowledged = trace.subscriptions.filter { $0.state == .acknowledged }
        var found: DeadLetters = [:]
        for (uid, subscriptions) in Dictionary(grouping: acknowledged, by: \.uid) {
            do {
                try await findDeadLetters(of: trace.message.sequence, uid, subscriptions, client, &found)
            } catch let error as NotifyError where error.code == .forbidden {
                continue
            }
        }
        return found
    }

    private static func findDeadLetters(
        of sequence: UInt64, _ uid: UInt32, _ subscriptions: [NotifyClient.Trace.Subscription], _ client: NotifyClient,
        _ found: inout DeadLetters
    ) async throws {
        var open = Dictionary(uniqueKeysWithValues: subscriptions.map { ($0.name, $0) })
        for try await letter in try await client.deadLetters(from: .sequence(sequence), uid: uid)
        where letter.originalSequence == sequence {
            guard let subscription = open.removeValue(forKey: letter.durableName) else { continue }
            found[subscription] = letter.sequence
            if open.isEmpty { return }
        }
    }

    static func text(_ trace: NotifyClient.Trace, _ letters: DeadLetters) -> String {
        var lines = [PostPrinter.words(trace.message).joined(separator: " ")]
        if trace.subscriptions.isEmpty { return Table.printable(lines[0]) + "\nno durable subscription matches\n" }
        var table = Table([
            .text("DURABLE"), .text("USER"), .text("STATE"), .number("CLIENT"), .number("PID"), .text("PROGRAM"),
        ])
        let users = UserNames.names(of: trace.subscriptions.map(\.uid))
        for subscription in trace.subscriptions {
            table.append([
                subscription.name, users[subscription.uid] ?? "\(subscription.uid)", state(subscription, letters),
                subscription.client.map { "\($0)" } ?? Table.none, subscription.pid.map { "\($0)" } ?? Table.none,
                subscription.pid.flatMap(ProcessNames.program) ?? Table.none,
            ])
        }
        lines[0] = Table.printable(lines[0])
        return (lines + table.lines).map { $0 + "\n" }.joined()
    }

    private static func state(_ subscription: NotifyClient.Trace.Subscription, _ letters: DeadLetters) -> String {
        if let letter = letters[subscription] { return "dead letter \(letter)" }
        return switch subscription.state {
        case .acknowledged: "acknowledged"
        case .inFlight: "in flight"
        case .pending: subscription.mayHaveBeenSeen ? "pending, seen" : "pending"
        case .beforeStart: "before start"
        case .forbidden: "forbidden"
        case .waiting: "waiting"
        case .deadLetter: "dead letter"
        }
    }

    static func json(_ trace: NotifyClient.Trace, _ letters: DeadLetters) -> String {
        var json = JSONWriter()
        json.object { json in
            PostPrinter.write(trace.message, to: &json)
            json.key("subscriptions")
            json.array { json in
                for subscription in trace.subscriptions {
                    json.object { json in
                        json.member("durable", subscription.name)
                        json.member("uid", subscription.uid)
                        let letter = letters[subscription]
                        json.member("state", (letter == nil ? subscription.state : .deadLetter).rawValue)
                        json.optionalMember("dead_letter", letter)
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
