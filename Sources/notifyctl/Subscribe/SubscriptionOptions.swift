import ArgumentParser
import NotifyClient

/// The options of `subscribe`, `wait` and `work` for their subscription: its sharing, start and object.
struct SubscriptionOptions: ParsableArguments {
    @OptionGroup private var groupOption: GroupOption

    @Flag(
        help: ArgumentHelp(
            """
            Attach even if another client holds the subscription exclusively, or if only one of the clients gives \
            --group. The attachments of the other clients end; members of the same group stay attached.
            """))
    var takeover = false

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Where in the log to start. An existing durable subscription resumes instead.", valueName: "start"),
        completion: PositionArgument.completion, transform: { try PositionArgument.start($0) })
    var from: NotificationClient.Start?

    @Option(help: ArgumentHelp("Only messages with this object.", valueName: "text"))
    var object: String?

    var sharing: NotificationClient.DurableSharing { groupOption.sharing }

    /// Refuses `--group` and `--takeover`, for a command without a durable subscription.
    func checkUnused() throws {
        if groupOption.group || takeover {
            throw ValidationError("--group and --takeover need a durable subscription: name it with --durable")
        }
    }
}
