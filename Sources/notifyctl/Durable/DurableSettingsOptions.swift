import ArgumentParser
import NotifyClient

/// The options for the settings of a durable subscription.
struct DurableSettingsOptions: ParsableArguments {
    /// The delays of `--retry-after`.
    struct RetryDelays {
        var delays: [Duration]
    }

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            """
            The time in which a delivered message must be answered; 0 for no limit. A new group has 30s, any other \
            new subscription has no limit.
            """, valueName: "span"),
        transform: { try SpanArgument.span($0) })
    var deadline: Duration?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            """
            The delays after the first failure, the second and so on. The last one repeats. A new subscription has \
            1s,10s,1m.
            """, valueName: "spans"),
        transform: { RetryDelays(delays: try SpanArgument.spans($0)) })
    var retryAfter: RetryDelays?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            """
            The number of failed deliveries after which a message becomes a dead letter; 0 for no limit. A new group has \
            5. Any other new subscription has no limit: a message that always fails is repeated forever.
            """, valueName: "number"),
        transform: { try CountArgument.count($0) })
    var maxDeliveries: Int?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "The maximum number of unanswered messages of all clients together; 0 for no limit.",
            valueName: "number"),
        transform: { try CountArgument.count($0) })
    var inFlight: Int?

    func validate() throws {
        if let deadline, deadline != .zero, !(.milliseconds(100) ... .seconds(30 * 86_400)).contains(deadline) {
            throw ValidationError("--deadline must be 0 for no limit, or 100ms to 30d")
        }
        for (option, number) in [("--max-deliveries", maxDeliveries), ("--in-flight", inFlight)] {
            if let number, number < 0 { throw ValidationError("\(option) must be at least 0; 0 is no limit") }
        }
    }

    var settings: NotificationClient.DurableSettings {
        NotificationClient.DurableSettings(
            deadline: deadline, retryDelays: retryAfter?.delays, maximumDeliveries: maxDeliveries,
            maximumInFlight: inFlight)
    }
}

extension NotificationClient.DurableSettings {
    /// The settings of `existing` that differ from the settings chosen here, as options.
    func differences(from existing: NotificationClient.DurableSettings) -> [String] {
        let isKept = [
            deadline.map { $0 == existing.deadline } ?? true, retryDelays.map { $0 == existing.retryDelays } ?? true,
            maximumDeliveries.map { $0 == existing.maximumDeliveries } ?? true,
            maximumInFlight.map { $0 == existing.maximumInFlight } ?? true,
        ]
        return zip(existing.options, isKept).compactMap { option, isKept in isKept ? nil : option }
    }

    /// All settings as options, in the order of the properties.
    var options: [String] {
        [
            "--deadline \(SpanArgument.text(deadline ?? .zero))",
            "--retry-after \(SpanArgument.text(retryDelays ?? []))",
            "--max-deliveries \(maximumDeliveries ?? 0)", "--in-flight \(maximumInFlight ?? 0)",
        ]
    }
}
