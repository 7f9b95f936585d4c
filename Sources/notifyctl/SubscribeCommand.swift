import ArgumentParser
import Glibc
import NotifyClient

struct SubscribeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "subscribe",
        abstract: "Print messages as they are posted.",
        discussion: """
            In a pattern '*' stands for one part of a name, and a last '>' for one or more. What was missed, and lost \
            connections, are told on standard error.

            With --durable the daemon keeps what was not printed yet: the next subscribe under the same name, with the \
            same patterns, goes on where this one stopped.

            EXAMPLES
              notifyctl subscribe 'orders.>'
              notifyctl subscribe 'orders.*' 'stock.>' --verbose
              notifyctl subscribe 'orders.>' --durable billing --from all --json
              notifyctl subscribe backup.done --count 1 --timeout 3600 && echo done
            """)

    enum Start: String, ExpressibleByArgument, CaseIterable {
        case now
        case all
    }

    @OptionGroup var connection: ConnectionOptions

    @Argument(help: "Which names; a message that several match is printed once.")
    var patterns: [String]

    @Option(
        help: ArgumentHelp("Attach to the durable subscription of this name; make it if need be.", valueName: "name"))
    var durable: String?

    @Option(
        help: ArgumentHelp(
            "Where a durable subscription begins when it is made: now, or all that is kept.", valueName: "start"))
    var from: Start?

    @Option(help: ArgumentHelp("Only messages with this object.", valueName: "text"))
    var object: String?

    @Option(name: .shortAndLong, help: ArgumentHelp("End after so many messages.", valueName: "number"))
    var count: Int?

    @Option(
        name: .shortAndLong, help: ArgumentHelp("End after so much time in all, with status 124.", valueName: "seconds")
    )
    var timeout: Double?

    @Flag(name: .shortAndLong, help: "Print the name and a space before each payload.")
    var verbose = false

    @Flag(help: "Print one JSON object for each message.")
    var json = false

    func validate() throws {
        if from == .all, durable == nil {
            throw ValidationError("--from all is for durable subscriptions: name one with --durable, or leave it out")
        }
        if let count, count < 1 { throw ValidationError("--count is 1 or more") }
        if let timeout, !(timeout >= 0 && timeout < 1e9) { throw ValidationError("--timeout is a number of seconds") }
    }

    func run() async throws {
        let interruption = Interruption(output: STDOUT_FILENO, timeout: timeout.map { .seconds($0) })
        do {
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await show(until: interruption) }
                group.addTask { _ = await interruption.wait() }
                // Either the subscription is over, or it is to be.
                try await group.next()
                group.cancelAll()
                try await group.waitForAll()
            }
        } catch  where interruption.reason != nil && Self.followsFromInterruption(error) {
        }
        if interruption.reason == .timeout {
            throw CommandFailure(.timeout, "\(timeout ?? 0) seconds are over")
        }
    }

    private static func followsFromInterruption(_ error: any Error) -> Bool {
        switch error {
        case let error as NotifyError: error.code == .cancelled
        case is CancellationError, is StandardOutput.Failure: true
        default: false
        }
    }

    private func show(until interruption: Interruption) async throws {
        var configuration = connection.configuration()
        configuration.onConnectionChange = ConnectionRemarks().handler
        try await withNotifyClient(configuration: configuration) { client in
            let subscription = try await client.subscribe(to: patterns, as: kind, object: object, limit: count)
            let printer = MessagePrinter(format: json ? .json : verbose ? .nameAndPayload : .payload)
            do {
                try await printer.print(subscription, interruption: interruption.descriptor)
            } catch {
                // Whatever ended it, the daemon is to know what was printed before anybody else attaches.
                try await subscription.leave()
                throw error
            }
            try await subscription.leave()
        }
    }

    private var kind: NotifyClient.SubscriptionKind {
        guard let durable else { return .volatile() }
        return .durable(durable, from: from == .all ? .oldest : .now)
    }
}
