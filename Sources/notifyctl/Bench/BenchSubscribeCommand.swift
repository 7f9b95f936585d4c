import ArgumentParser
import NotifyClient

struct BenchSubscribeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "subscribe",
        abstract: "Post messages, and measure the time until subscribers have received them.",
        discussion: """
            Each subscriber has a volatile subscription and receives every message, except those that the daemon drops \
            because the subscriber is too slow. With fewer messages in flight, fewer are dropped.

            EXAMPLES
              notifyctl bench subscribe --subscribers 100 --messages 10000
              notifyctl bench subscribe --in-flight 100 --json
            """)

    @OptionGroup var options: BenchOptions
    @OptionGroup var posting: BenchPostingOptions

    @Option(
        parsing: .unconditional, help: "The number of subscribers.",
        transform: { try CountArgument.count($0) })
    var subscribers = 1

    func validate() throws {
        try posting.validate(options)
        try BenchFanOut.check(subscribers)
    }

    func run() async throws {
        try await options.run { interruption in
            try await interruption.cancelling { try await measure() }
        }
    }

    private func measure() async throws -> BenchReport {
        let fanOut = BenchFanOut(options: options, posting: posting, subscribers: subscribers)
        let result = try await fanOut.run { client, _ in
            try await client.subscribe(to: [options.effectiveName], as: .volatile(whenFull: .pauseReading))
        }
        return result.report("subscribe", fanOut, mayDrop: true)
    }
}
