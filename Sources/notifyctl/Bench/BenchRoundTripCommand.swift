import ArgumentParser
import NotifyClient

struct BenchRoundTripCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "roundtrip",
        abstract: "Measure the time from a message until its answer.",
        discussion: """
            Each pair of clients has two names of its own: NAME.N.request and NAME.N.answer. One client posts a \
            message and waits for the answer. The other client posts the answer when it has received the message. Each \
            pair has one message in flight at a time.

            EXAMPLES
              notifyctl bench roundtrip
              notifyctl bench roundtrip --pairs 10 --size 1024 --json
            """)

    @OptionGroup var options: BenchOptions

    @Option(
        name: .shortAndLong, parsing: .unconditional, help: "The number of pairs of clients.",
        transform: { try CountArgument.count($0) })
    var pairs = 1

    func validate() throws {
        try options.check("--pairs", pairs)
    }

    func run() async throws {
        try await options.run { interruption in
            try await interruption.cancelling { try await measure() }
        }
    }

    private func measure() async throws -> BenchReport {
        try await withClients(2 * pairs, options.connection.configuration()) { clients in
            var tasks: [@Sendable () async throws -> BenchMeasurement] = []
            for (index, count) in options.parts(pairs).enumerated() {
                let pair = try await BenchPair(
                    requester: clients[2 * index], responder: clients[2 * index + 1], count: count,
                    name: "\(options.effectiveName).\(index)", options: options)
                tasks.append { try await pair.request() }
                tasks.append { try await pair.respond() }
            }
            let start = MonotonicTime.now
            let measurement = try await BenchMeasurement.total(of: tasks)
            return options.report(
                "roundtrip", clients: [("pairs", pairs)], start: start,
                [.init(title: "round trips", latencyTitle: "round trip", measurement: measurement)])
        }
    }
}
