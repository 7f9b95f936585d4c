import ArgumentParser
import NotifyClient

/// The option that makes a durable subscription a group.
struct GroupOption: ParsableArguments {
    @Flag(help: "Share the messages with other clients that use --group: each message goes to one of them.")
    var group = false

    var sharing: NotificationClient.DurableSharing { group ? .group : .exclusive }
}
