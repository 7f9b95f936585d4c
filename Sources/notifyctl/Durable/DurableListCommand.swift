import ArgumentParser
import FoundationEssentials
import NotifyClient

struct DurableListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the durable subscriptions of this user or, with the right to manage everything, of every user.",
        discussion: """
            Prints one line for each subscription. The columns after its name and user are:

              PENDING    messages that are still to be acknowledged
              OLDEST     the age of the oldest of these messages
              IN-FLIGHT  messages that were delivered and not answered
              WAITING    messages that wait for redelivery
              LOST       messages that were deleted before they were acknowledged
              PATTERNS   its patterns

            and with --wide:

              BYTES      the bytes of the pending messages
              CURSOR     the sequence up to which all messages are acknowledged or wait
                         for redelivery
              PID        the process attached to it, or the first one of a group
              MEMBERS    the number of members of a group
              OBJECT     its object

            '-' stands for no value, '?' for one that is not known yet. '<=' marks an upper bound.

            \(ListOptions.discussion)

            PENDING, BYTES and OLDEST are usually at most 5 seconds old. The daemon counts them in its log. If \
            counting takes longer, they are older, or '?' after a minute without a count: run the command again.

            EXAMPLES
              notifyctl durable list
              notifyctl durable list --watch
              notifyctl durable list --json
            """)

    @OptionGroup var connection: ConnectionOptions
    @OptionGroup var options: ListOptions

    func validate() throws { try options.checkInterval() }

    func run() async throws {
        let printer = ListPrinter<Administration.DurableSubscription>(
            options: options, title: "durable subscriptions",
            fetch: { try await $0.administration.durableSubscriptions() },
            table: { look, _ in Self.table(look.items, now: Date()) }, json: { Self.write($0, now: Date(), to: &$1) })
        try await printer.run(configuration: connection.configuration())
    }

    static func table(_ subscriptions: [Administration.DurableSubscription], now: Date) -> Table {
        var table = Table([
            .text("DURABLE"), .text("USER"), .number("PENDING"), .number("OLDEST"), .number("IN-FLIGHT"),
            .number("WAITING"), .number("LOST"), .text("PATTERNS"), .number("BYTES").wide, .number("CURSOR").wide,
            .number("PID").wide, .number("MEMBERS").wide, .text("OBJECT").wide,
        ])
        let users = UserNames.names(of: subscriptions.map(\.uid))
        for subscription in subscriptions {
            let pending = subscription.pending
            table.append([
                subscription.name, users[subscription.uid] ?? "\(subscription.uid)",
                pending.map { text($0.count) } ?? Table.unknown,
                age(of: subscription, now: now).map { bound(subscription) + Quantities.duration(seconds: $0) }
                    ?? (pending == nil ? Table.unknown : Table.none),
                "\(subscription.inFlight)", "\(subscription.waiting)", text(subscription.lost),
                subscription.patterns.joined(separator: " "),
                pending.map { bound(subscription) + Quantities.bytes($0.bytes) } ?? Table.unknown,
                "\(subscription.cursor)",
                subscription.holderPID.map { "\($0)" } ?? Table.none,
                subscription.sharing == .group ? "\(subscription.members)" : Table.none,
                subscription.object ?? Table.none,
            ])
        }
        return table
    }

    static func text(_ count: Administration.DurableSubscription.Count) -> String {
        count.isUpperBound ? "<=\(count.messages)" : "\(count.messages)"
    }

    /// The mark before a figure that is an upper bound.
    private static func bound(_ subscription: Administration.DurableSubscription) -> String {
        subscription.pending?.count.isUpperBound ?? false ? "<=" : ""
    }

    /// The age of the oldest pending message in seconds; nil if there is none or the age is unknown.
    private static func age(of subscription: Administration.DurableSubscription, now: Date) -> UInt64? {
        subscription.pending?.oldest.map { UInt64(max(0, now.timeIntervalSince($0))) }
    }

    static func write(_ subscription: Administration.DurableSubscription, now: Date, to json: inout JSONWriter) {
        json.object { writeMembers(subscription, now: now, to: &$0) }
    }

    static func writeMembers(
        _ subscription: Administration.DurableSubscription, now: Date, to json: inout JSONWriter
    ) {
        json.member("durable", subscription.name)
        json.member("uid", subscription.uid)
        json.member("user", UserNames.name(of: subscription.uid))
        json.member("cursor", subscription.cursor)
        json.optionalMember("pid", subscription.holderPID)
        json.member("sharing", subscription.sharing == .group ? "group" : "exclusive")
        json.member("members", subscription.members)
        json.member("in_flight", subscription.inFlight)
        json.member("waiting", subscription.waiting)
        json.optionalMember("pending_messages", subscription.pending?.count.messages)
        json.member("pending_is_upper_bound", subscription.pending?.count.isUpperBound ?? false)
        json.optionalMember("pending_bytes", subscription.pending?.bytes)
        json.optionalMember("oldest_pending_seconds", age(of: subscription, now: now))
        json.member("lost_messages", subscription.lost.messages)
        json.member("lost_is_upper_bound", subscription.lost.isUpperBound)
        json.member("object", subscription.object)
        json.key("patterns")
        json.array { json in
            for pattern in subscription.patterns { json.string(pattern) }
        }
    }
}
