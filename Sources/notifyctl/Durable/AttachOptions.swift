import ArgumentParser
import NotifyClient

/// How a client attaches to a durable subscription.
struct AttachOptions: ParsableArguments {
    @OptionGroup private var groupOption: GroupOption

    @Flag(
        help: ArgumentHelp(
            """
            Attach even if the subscription is exclusive and held by another client, or is shared in the other way. The \
            attachments of those clients end; members of the same group stay attached.
            """))
    var takeover = false

    var sharing: NotificationClient.DurableSharing { groupOption.sharing }

    /// Refuses the options of a command without a durable subscription.
    func checkUnused() throws {
        if groupOption.group || takeover {
            throw ValidationError("--group and --takeover need a durable subscription: name it with --durable")
        }
    }
}
