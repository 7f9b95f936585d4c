import ArgumentParser
import NotifyClient

/// Posts messages under one name to several subscriptions, and measures the receipts and the deliveries.
struct BenchFanOut: Sendable {
    /// The measurements of the posters and of the receivers.
    struct Result: Sendable {
        var start: UInt64
        var posted = BenchMeasurement()
        var received = BenchMeasurement()
    }

    let options: BenchOptions
    let posting: BenchPostingOptions
    let subscribers: Int

    static func check(_ subscribers: Int) throws {
        guard 1...1_000 ~= subscribers else { throw ValidationError("--subscribers must be 1 to 1000") }
    }

    /// - Parameter subscribe: Opens the subscription with this index.
    func run(
        _ subscribe: (NotificationClient, Int) async throws -> NotificationClient.Subscription
    ) async throws -> Result {
        let configuration = options.connection.configuration()
        return try await withClients(subscribers, configuration) { receivingClients in
            var subscriptions: [NotificationClient.Subscription] = []
            for (index, client) in receivingClients.enumerated() {
                subscriptions.append(try await subscribe(client, index))
            }
            let open = subscriptions
            return try await withClients(posting.clients, configuration) { try await run($0, open) }
        }
    }

    private func run(
        _ clients: [NotificationClient], _ subscriptions: [NotificationClient.Subscription]
    ) async throws -> Result {
        let message = try options.message(name: options.effectiveName, durability: posting.durability)
        let posters = options.posters(clients, message, inFlight: posting.inFlight)
        let receivers = subscriptions.map {
            BenchReceiver(subscription: $0, message: message, count: options.messages)
        }
        var result = Result(start: MonotonicTime.now)
        async let received = BenchMeasurement.total(of: receivers.map { receiver in { try await receiver.run() } })
        result.posted = try await BenchMeasurement.total(of: posters.map { poster in { try await poster.run() } })
        result.received = try await received
        for subscription in subscriptions { try await subscription.leave() }
        return result
    }
}

extension BenchFanOut.Result {
    func report(_ benchmark: String, _ fanOut: BenchFanOut, mayDrop: Bool = false) -> BenchReport {
        fanOut.options.report(
            benchmark, clients: [("clients", fanOut.posting.clients), ("subscribers", fanOut.subscribers)],
            start: start,
            [
                .init(title: "posted", latencyTitle: "receipts", measurement: posted),
                .init(title: "received", latencyTitle: "delay", measurement: received, mayDrop: mayDrop),
            ])
    }
}
