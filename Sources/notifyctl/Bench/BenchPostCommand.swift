import ArgumentParser
import NotifyClient

struct BenchPostCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "post",
        abstract: "Post messages, and measure the time until their receipts.",
        discussion: """
            With many messages in flight, the latency is mostly the time that a message waits for earlier messages. To \
            measure without this wait, give --in-flight 1. Stored messages stay in the daemon's log.

            EXAMPLES
              notifyctl bench post --clients 4
              notifyctl bench post --in-flight 1 --messages 10000
              notifyctl bench post --durability stored --size 4096 --json
            """)

    @OptionGroup var options: BenchOptions
    @OptionGroup var posting: BenchPostingOptions

    func validate() throws {
        try posting.validate(options)
    }

    func run() async throws {
        try await options.run { interruption in
            try await interruption.cancelling { try await measure() }
        }
    }

    private func measure() async throws -> BenchReport {
        let message = try options.message(name: options.effectiveName, durability: posting.durability)
        return try await withClients(posting.clients, options.connection.configuration()) { clients in
            let start = MonotonicTime.now
            let posters = options.posters(clients, message, inFlight: posting.inFlight)
            let posted = try await BenchMeasurement.total(of: posters.map { poster in { try await poster.run() } })
            return options.report(
                "post", clients: [("clients", posting.clients)], start: start,
                [.init(title: "posted", latencyTitle: "receipts", measurement: posted)])
        }
    }
}
