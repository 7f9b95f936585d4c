import ArgumentParser
import NotifyClient

/// The options of `subscribe`, `wait` and `work` for their subscription: how a client attaches, and what it receives.
struct SubscriptionOptions: ParsableArguments {
    @OptionGroup private var groupOption: GroupOption

    @Flag(
        help: ArgumentHelp(
            """
            Attach even if the subscription is exclusive and held by another client, or is shared in the other way. The \
            attachments of those clients end; members of the same group stay attached.
            """))
    var takeover = false

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Where in the log to start; a durable subscription that exists resumes.", valueName: "start"),
        completion: PositionArgument.completion, transform: { try PositionArgument.start($0) })
    var from: NotificationClient.Start?

    @Option(help: ArgumentHelp("Only messages with this object.", valueName: "text"))
    var object: String?

    var sharing: NotificationClient.DurableSharing { groupOption.sharing }

    /// Refuses the options of a command without a durable subscription.
    func checkUnused() throws {
        if groupOption.group || takeover {
            throw ValidationError("--group and --takeover need a durable subscription: name it with --durable")
        }
    }
}
