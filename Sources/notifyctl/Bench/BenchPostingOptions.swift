import ArgumentParser
import NotifyClient

/// The options of the benchmarks that post with receipts.
struct BenchPostingOptions: ParsableArguments {
    @Option(
        name: .shortAndLong, parsing: .unconditional, help: "The number of clients that post.",
        transform: { try CountArgument.count($0) })
    var clients = 1

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "The maximum number of posts of each client that wait for receipts; fewer if they exceed 16 MiB.",
            valueName: "number"),
        transform: { try CountArgument.count($0) })
    var inFlight = 1_000

    @Option(
        help: ArgumentHelp("The durability: \(PostCommand.durabilities).", valueName: "durability"),
        completion: .list(NotificationClient.Durability.allCases.map(\.rawValue)), transform: PostCommand.durability)
    var durability = NotificationClient.Durability.automatic

    func validate(_ options: BenchOptions) throws {
        try options.check("--clients", clients)
        guard 1...1_000_000 ~= inFlight else { throw ValidationError("--in-flight must be 1 to 1000000") }
    }
}
