import ArgumentParser

/// The options of commands that receive: the subscription is durable if `--durable` names it, else volatile.
struct ReceivingOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Attach to the durable subscription of this name; create it if it does not exist.", valueName: "name"),
        completion: DurableCommand.nameCompletion)
    var durable: String?

    @OptionGroup var subscription: SubscriptionOptions

    /// Refuses the options of a durable subscription if `--durable` is not given.
    func checkDurable() throws {
        if durable == nil { try subscription.checkUnused() }
    }
}
