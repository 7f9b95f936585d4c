import ArgumentParser
import FoundationEssentials
import NotifyClient

struct DurableShowCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Print the settings and the state of a durable subscription.",
        discussion: """
            Prints its name, user, patterns and object, its settings (as for 'notifyctl durable set'), and:

              cursor         the sequence up to which all messages are acknowledged or
                             wait for redelivery
              attached       the process that receives the messages
              members        the number of members of a group
              in flight      messages that were delivered and not answered
              waiting        messages that wait for redelivery
              withheld       waiting messages that no attached process may receive, but
                             one that attached earlier may; if none is attached, those
                             that at least one of the earlier ones may not receive
              pending        messages that are still to be acknowledged
              lost           messages that were deleted before they were acknowledged
              last failure   the last failed delivery, with its reason
              next delivery  the time of the next redelivery
              created        the time of its creation
              last attached  the time when a client last attached to receive messages
              expires        the time left until it is removed if no client attaches, and
                             the time without a client after which it is removed
              no room        shown only while messages that failed too often can't
                             become dead letters

            A setting without a limit is shown as 'none', a value that does not exist as '-', and an unknown one as \
            '?'.

            The pending messages are counted as by 'notifyctl durable list': if they are '?', run the command again. The \
            times of a subscription that an earlier version created may be '?', too. \(TimeOptions.discussion)

            EXAMPLES
              notifyctl durable show billing
              sudo notifyctl durable show billing --user alice --json
            """)

    @OptionGroup var connection: ConnectionOptions
    @OptionGroup var subscription: DurableOptions

    @Flag(help: "Print one JSON object.")
    var json = false

    @OptionGroup var time: TimeOptions

    func run() async throws {
        let details = try await withNotificationClient(configuration: connection.configuration()) { client in
            try await client.administration.durableSubscription(subscription.name, uid: subscription.uid)
        }
        var output = StandardOutput()
        output.append(json ? Self.json(details, now: Date()) + "\n" : Self.text(details, time.style, now: Date()))
        try output.flush()
    }

    // MARK: Text

    private static let noLimit = "none"

    static func text(_ details: Administration.DurableDetails, _ times: TimeStyle, now: Date) -> String {
        let subscription = details.subscription
        var rows = [
            ("name", subscription.name), ("user", UserNames.name(of: subscription.uid) ?? "\(subscription.uid)"),
            ("patterns", subscription.patterns.joined(separator: " ")), ("object", subscription.object ?? Table.none),
            ("cursor", "\(subscription.cursor)"),
            ("attached", subscription.holderPID.map { process($0) } ?? Table.none),
            ("members", subscription.sharing == .group ? "\(subscription.members)" : Table.none),
            ("in flight", "\(subscription.inFlight)"), ("waiting", "\(subscription.waiting)"),
            ("withheld", "\(details.withheld)"),
            ("pending", subscription.pending.map { pending($0, now: now) } ?? Table.unknown),
            ("lost", DurableListCommand.text(subscription.lost)),
            ("last failure", details.lastFailure.map { failure($0, times) } ?? Table.none),
            ("next delivery", details.nextDelivery.map { times.text($0) } ?? Table.none),
            ("deadline", limit(details.settings.deadline ?? .zero)),
            ("retry after", SpanArgument.text(details.settings.retryDelays ?? [])),
            ("max deliveries", limit(details.settings.maximumDeliveries)),
            ("max in flight", limit(details.settings.maximumInFlight)),
            ("created", details.created.map { times.text($0) } ?? Table.unknown),
            ("last attached", lastAttachment(details, times)),
            ("expires", expiry(details)),
        ]
        if details.needsRoomForDeadLetters {
            rows.append(
                (
                    "no room",
                    "messages that failed too often wait to become dead letters, because the failed messages and dead "
                        + "letters of the user have reached their limit; see 'notifyctl doctor'"
                ))
        }
        return rows.map { title, value in
            title + String(repeating: " ", count: 15 - title.count) + FailureReason.block(value, indent: 15) + "\n"
        }.joined()
    }

    private static func limit(_ span: Duration) -> String { span == .zero ? noLimit : SpanArgument.text(span) }

    private static func limit(_ count: Int?) -> String { count.flatMap { $0 == 0 ? nil : "\($0)" } ?? noLimit }

    private static func process(_ pid: UInt32) -> String {
        "process \(pid)" + (ProcessNames.program(of: pid).map { " (\($0))" } ?? "")
    }

    private static func pending(_ pending: Administration.DurableSubscription.Pending, now: Date) -> String {
        let text = "messages: \(DurableListCommand.text(pending.count))"
        guard let oldest = pending.oldest else { return text }
        let age = Quantities.duration(seconds: UInt64(max(0, now.timeIntervalSince(oldest))))
        let most = pending.count.isUpperBound ? "at most " : ""
        return "\(text), \(most)\(Quantities.bytes(pending.bytes)), the oldest posted \(most)\(age) ago"
    }

    /// The last attachment. If none is recorded, it is unknown while a client is attached, and for a subscription that
    /// an earlier version of the daemon created: that version recorded neither creations nor attachments.
    private static func lastAttachment(_ details: Administration.DurableDetails, _ times: TimeStyle) -> String {
        guard let attachment = details.lastAttachment else {
            return details.created == nil || details.subscription.holderPID != nil ? Table.unknown : "never"
        }
        return times.text(attachment.date) + " by process \(attachment.pid)"
    }

    private static func failure(
        _ failure: Administration.DurableDetails.Failure, _ times: TimeStyle
    ) -> String {
        let date = failure.date.map { times.text($0) } ?? "before the daemon's start"
        return "\(date), message \(failure.sequence), delivery \(failure.failures): \(failure.reason ?? Table.unknown)"
    }

    private static func expiry(_ details: Administration.DurableDetails) -> String {
        guard let expiry = details.expiry else { return "never" }
        let after = Quantities.duration(seconds: expiry.wholeSeconds)
        guard let unused = details.unused, details.subscription.holderPID == nil else {
            return "after \(after) without a client"
        }
        return "in \(Quantities.duration(seconds: max(.zero, expiry - unused).wholeSeconds)) "
            + "(after \(after) without a client)"
    }

    // MARK: JSON

    static func json(_ details: Administration.DurableDetails, now: Date) -> String {
        var json = JSONWriter()
        json.object { json in
            DurableListCommand.writeMembers(details.subscription, now: now, to: &json)
            json.member("deadline_milliseconds", (details.settings.deadline ?? .zero).wholeMilliseconds)
            json.key("retry_delays_milliseconds")
            json.array { json in
                for delay in details.settings.retryDelays ?? [] { json.number(delay.wholeMilliseconds) }
            }
            json.member("maximum_deliveries", details.settings.maximumDeliveries ?? 0)
            json.member("maximum_in_flight", details.settings.maximumInFlight ?? 0)
            json.key("last_failure")
            if let failure = details.lastFailure {
                json.object { json in
                    json.member("sequence", failure.sequence)
                    json.member("time", failure.date.map { Timestamp.text($0) })
                    json.member("failures", failure.failures)
                    json.member("reason", failure.reason)
                }
            } else {
                json.null()
            }
            json.member("next_delivery", details.nextDelivery.map { Timestamp.text($0) })
            json.member("created", details.created.map { Timestamp.text($0) })
            json.member("last_attached", details.lastAttachment.map { Timestamp.text($0.date) })
            json.optionalMember("last_attached_pid", details.lastAttachment?.pid)
            json.optionalMember("expiry_seconds", details.expiry?.wholeSeconds)
            json.member("withheld", details.withheld)
            json.member("dead_letters_need_room", details.needsRoomForDeadLetters)
            json.optionalMember("unused_seconds", details.unused?.wholeSeconds)
        }
        return String(decoding: json.bytes, as: UTF8.self)
    }
}

extension Duration {
    fileprivate var wholeSeconds: UInt64 { UInt64(max(0, components.seconds)) }

    fileprivate var wholeMilliseconds: UInt64 {
        wholeSeconds * 1_000 + UInt64(max(0, components.attoseconds) / 1_000_000_000_000_000)
    }
}
