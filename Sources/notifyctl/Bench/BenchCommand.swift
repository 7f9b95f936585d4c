import ArgumentParser
import NotifyClient

struct BenchCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bench",
        abstract: "Measure the rates and latencies of a running daemon.",
        discussion: """
            Every client has a connection of its own. The percentiles are exact to 1%. Clients and daemon share the \
            processors, so a client's work lowers the rates, too. Stored messages of a benchmark stay in the log as history: \
            'notifyctl purge' removes them, as root or with the right to manage their names.

            EXAMPLES
              notifyctl bench post
              notifyctl bench subscribe --subscribers 10
              notifyctl bench roundtrip --messages 10000
              notifyctl bench durable --durability synced --in-flight 1 --messages 1000
              sudo notifyctl purge 'user.*.bench.>'
            """,
        subcommands: [
            BenchPostCommand.self, BenchSubscribeCommand.self, BenchRoundTripCommand.self, BenchDurableCommand.self,
        ])
}
