import ArgumentParser

/// The options of commands whose subscription is durable if it has a name.
struct ReceivingOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Attach to the durable subscription of this name; create it if it does not exist.", valueName: "name"),
        completion: DurableCommand.nameCompletion)
    var durable: String?

    @OptionGroup var subscription: SubscriptionOptions

    /// Refuses the options of a durable subscription if there is none.
    func checkDurable() throws {
        if durable == nil { try subscription.checkUnused() }
    }
}
