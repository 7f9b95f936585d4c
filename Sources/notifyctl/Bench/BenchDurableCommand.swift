import ArgumentParser
import Glibc
import NotifyClient

struct BenchDurableCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "durable",
        abstract: "Post messages, and measure the time until durable subscriptions have received them.",
        discussion: """
            Each subscriber creates a durable subscription bench-PID-N, receives and acknowledges every message, and \
            removes the subscription at the end, also after an error, SIGINT or SIGTERM. After a SIGKILL, the \
            subscriptions remain: remove them with 'notifyctl durable remove'. The stored messages stay in the \
            daemon's log.

            EXAMPLES
              notifyctl bench durable --subscribers 10
              notifyctl bench durable --durability synced --in-flight 1 --messages 1000
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
        if posting.durability == .volatile {
            throw ValidationError("--durability volatile: durable subscriptions do not receive volatile messages")
        }
    }

    func run() async throws {
        try await options.run { interruption in
            let names = (0..<subscribers).map { "bench-\(getpid())-\($0)" }
            do {
                let report = try await interruption.cancelling { try await measure(names) }
                await remove(names)
                return report
            } catch let error as NotifyError where error.code == .noDaemon {
                throw error
            } catch {
                await remove(names)
                throw error
            }
        }
    }

    private func measure(_ names: [String]) async throws -> BenchReport {
        let fanOut = BenchFanOut(options: options, posting: posting, subscribers: subscribers)
        let result = try await fanOut.run { client, index in
            try await client.subscribe(to: [options.effectiveName], as: .durable(names[index]))
        }
        return result.report("durable", fanOut)
    }

    /// Removes the subscriptions that were created. After an error, reports that some may remain.
    private func remove(_ names: [String]) async {
        do {
            try await withNotificationClient(configuration: options.connection.configuration()) { client in
                let existing = Set(
                    try await client.administration.durableSubscriptions().filter { $0.uid == geteuid() }.map(\.name))
                for name in names where existing.contains(name) {
                    try await client.administration.removeDurableSubscription(name)
                }
            }
        } catch {
            StandardError.write(
                "durable subscriptions named bench-\(getpid())-N may remain: remove them with "
                    + "'notifyctl durable remove' (\(error))")
        }
    }
}
