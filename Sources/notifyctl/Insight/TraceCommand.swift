import ArgumentParser
import NotifyClient

struct TraceCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "trace",
        abstract: "Print a stored message and its state in each durable subscription.",
        discussion: """
            Prints the message, then one line for each durable subscription whose patterns and object match it: its \
            name, its user, the state of the message in it, and the client that is attached now. The states are:

              acknowledged  acknowledged, or skipped while the owner had no right to it
              in flight     delivered to the attached client and not acknowledged yet
              waiting       to be delivered again: a delivery failed or was given back
              dead letter   became a dead letter; with its sequence once it is stored
              pending       to be delivered; with 'seen' if a client may have received it
              before start  posted before the subscription began
              forbidden     to be delivered, but the owner has no right to it

            Further lines give the number of failed deliveries of the message to a subscription, the reason of the \
            last failure, and the time of the next delivery.

            A dead letter that is deleted, or that you may not read, is shown as acknowledged. A dead letter that \
            still exists is shown as a dead letter, even if the message was acknowledged after a reset. Without the \
            right to manage everything, the lines are those of this user's subscriptions. Volatile messages, and \
            deliveries to volatile subscriptions, can't be traced: see 'notifyctl monitor'.

            \(TimeOptions.discussion) \(TableOptions.discussion)

            EXAMPLES
              notifyctl trace 4711
              notifyctl trace 4711 --json
            """)

    @OptionGroup var connection: ConnectionOptions

    @Argument(
        help: "The sequence of the message, as in its receipt.", transform: { try SequenceArgument.sequence($0) })
    var sequence: UInt64

    @Flag(help: "Print one JSON object.")
    var json = false

    @OptionGroup var table: TableOptions
    @OptionGroup var time: TimeOptions

    func run() async throws {
        let (trace, letters) = try await withNotificationClient(configuration: connection.configuration()) { client in
            let trace = try await client.administration.trace(sequence)
            return (trace, try await Self.deadLetters(of: trace, client))
        }
        var output = StandardOutput()
        output.append(json ? Self.json(trace, letters) + "\n" : Self.text(trace, letters, time.style, table.style))
        try output.flush()
    }

    /// The sequences of stored dead letters, by subscription.
    typealias DeadLetters = [Administration.Trace.Subscription: UInt64]

    /// Finds the dead letters of a message, except those that this user may not read. The daemon reports a stored dead
    /// letter as acknowledged, so only the subscriptions in this state are searched.
    private static func deadLetters(of trace: Administration.Trace, _ client: NotificationClient) async throws
        -> DeadLetters
    {
        var found: DeadLetters = [:]
        for subscription in trace.subscriptions where subscription.state == .acknowledged {
            do {
                found[subscription] = try await deadLetter(of: trace.message.sequence, subscription, client)
            } catch let error as NotifyError where error.code == .forbidden {
                continue
            }
        }
        return found
    }

    private static func deadLetter(
        of sequence: UInt64, _ subscription: Administration.Trace.Subscription, _ client: NotificationClient
    ) async throws -> UInt64? {
        let letters = try await client.administration.deadLetters(
            of: subscription.name, from: .sequence(sequence), uid: subscription.uid)
        return try await letters.first { $0.originalSequence == sequence }?.sequence
    }

    static func text(
        _ trace: Administration.Trace, _ letters: DeadLetters, _ times: TimeStyle, _ style: TableStyle
    ) -> String {
        var lines = [PostPrinter.words(trace.message, times).joined(separator: " ")]
        // The daemon leaves out the subscriptions of other users, unless this user may manage everything.
        if trace.subscriptions.isEmpty {
            return Table.printable(lines[0]) + "\nno durable subscription that you may see matches\n"
        }
        var table = Table([
            .text("DURABLE"), .text("USER"), .text("STATE"), .number("PID"), .text("PROGRAM"), .number("CLIENT").wide,
        ])
        let users = UserNames.names(of: trace.subscriptions.map(\.uid))
        for subscription in trace.subscriptions {
            table.append([
                subscription.name, users[subscription.uid] ?? "\(subscription.uid)", state(subscription, letters),
                subscription.pid.map { "\($0)" } ?? Table.none,
                subscription.pid.flatMap(ProcessNames.program) ?? Table.none,
                subscription.client.map { "\($0)" } ?? Table.none,
            ])
        }
        lines[0] = Table.printable(lines[0])
        return (lines + table.lines(in: style) + trace.subscriptions.flatMap { failure($0, times) }).map { $0 + "\n" }
            .joined()
    }

    /// The failed deliveries to a subscription, and the time of the next delivery.
    private static func failure(_ subscription: Administration.Trace.Subscription, _ times: TimeStyle) -> [String] {
        let name = Table.printable(subscription.name)
        var lines: [String] = []
        if subscription.failures > 0 || subscription.failureReason != nil {
            let reason = FailureReason.block(subscription.failureReason ?? Table.unknown, indent: 2)
            lines.append("failed deliveries to \(name): \(subscription.failures), the last one: \(reason)")
        }
        if let next = subscription.nextDelivery { lines.append("next delivery to \(name): \(times.text(next))") }
        return lines
    }

    private static func state(_ subscription: Administration.Trace.Subscription, _ letters: DeadLetters) -> String {
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

    static func json(_ trace: Administration.Trace, _ letters: DeadLetters) -> String {
        var json = JSONWriter()
        json.object { json in
            PostPrinter.write(trace.message, to: &json)
            json.key("states")
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
                        json.member("failures", subscription.failures)
                        json.member("reason", subscription.failureReason)
                        json.member("next_delivery", subscription.nextDelivery.map { Timestamp.text($0) })
                    }
                }
            }
        }
        return String(decoding: json.bytes, as: UTF8.self)
    }
}
