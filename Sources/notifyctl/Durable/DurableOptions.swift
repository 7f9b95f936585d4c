import ArgumentParser

/// The arguments that name an existing durable subscription.
struct DurableOptions: ParsableArguments {
    @Argument(help: "The subscription's name.", completion: DurableCommand.nameCompletion)
    var name: String

    @Option(
        name: .customLong("user"),
        help: ArgumentHelp(
            "The owner, by name or uid. To name another user, you need the right to manage everything.",
            valueName: "user"),
        completion: .shellCommand("cut -d : -f 1 /etc/passwd"), transform: { try UserNames.uid(argument: $0) })
    var uid: UInt32?
}
