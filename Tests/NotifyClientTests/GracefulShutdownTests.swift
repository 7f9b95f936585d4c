import Logging
import NotifyWire
import ServiceLifecycle
import Testing

@testable import NotifyClient

/// A client, and a service that consumes one of its subscriptions, in a service group.
@Suite(.timeLimit(.minutes(10))) struct GracefulShutdownTests {
    enum Order: CaseIterable { case clientFirst, consumerFirst }
    enum Form: CaseIterable { case scoped, batches, closure, withoutLeaving }

    /// Consumes a durable subscription and acknowledges every message.
    private struct Consumer: Service {
        let client: NotifyClient
        let form: Form
        /// Called with the payload of each message.
        let process: @Sendable (String) async throws -> Void

        func run() async throws {
            switch form {
            case .scoped:
                try await client.withSubscription(to: ">", as: .durable("d")) { try await consume($0) }
            case .batches:
                try await client.withSubscription(to: ">", as: .durable("d")) { subscription in
                    for try await batch in subscription.batches {
                        for message in batch.messages {
                            try await process(message.text ?? "")
                            message.acknowledge()
                        }
                    }
                }
            case .closure:
                try await client.subscribe(to: ">", as: .durable("d"), onGap: { _ in }) { message in
                    try await process(message.text ?? "")
                }
            case .withoutLeaving:
                try await consume(client.subscribe(to: [">"], as: .durable("d")))
            }
        }

        private func consume(_ subscription: NotifyClient.Subscription) async throws {
            for try await case .message(let message) in subscription {
                try await process(message.text ?? "")
                message.acknowledge()
            }
        }
    }

    private func group(_ order: Order, _ client: NotifyClient, _ consumer: some Service) -> ServiceGroup {
        let services: [any Service] = order == .clientFirst ? [client, consumer] : [consumer, client]
        return ServiceGroup(
            services: services, logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }))
    }

    @Test(arguments: Order.allCases, Form.allCases)
    func `a consumer finishes received messages, acknowledged before the end`(
        order: Order, form: Form
    ) async throws {
        try await FakeDaemon.run { daemon in
            let client = NotifyClient(configuration: .test(daemon.path))
            let (seen, permits) = (Inbox<String>(), Inbox<Void>())
            let group = group(
                order, client,
                Consumer(client: client, form: form) { text in
                    seen.put(text)
                    try await permits.next()
                })
            async let running: Void = group.run()
            let connection = try await daemon.accept()
            let number = try await connection.acceptSubscription().subscription
            connection.send { $0.writeRun(number, [1]) }
            #expect(try await seen.next() == "1")
            connection.send { $0.writeRun(number, [2, 3]) }
            // The pong arrives after the deliveries.
            try await client.ping()
            try await connection.expectPing()

            await group.triggerGracefulShutdown()
            for _ in 0..<3 { permits.put(()) }
            try await running

            #expect(seen.all() == ["2", "3"])
            var acknowledged: [UInt64] = []
            while acknowledged.last != 3 {
                acknowledged += try await (connection.expect() as Acknowledge).ranges.flatMap {
                    Array($0.first...$0.last)
                }
            }
            #expect(acknowledged == [1, 2, 3])
            try await connection.expectDetach()
            try await connection.expectFinalPing()
        }
    }

    @Test(arguments: Order.allCases, Form.allCases)
    func `a waiting consumer ends immediately`(order: Order, form: Form) async throws {
        try await FakeDaemon.run { daemon in
            let client = NotifyClient(configuration: .test(daemon.path))
            let group = group(order, client, Consumer(client: client, form: form) { _ in })
            async let running: Void = group.run()
            let connection = try await daemon.accept()
            let number = try await connection.acceptSubscription().subscription
            connection.send { $0.writeRun(number, [1]) }
            let acknowledge: Acknowledge = try await connection.expect()
            #expect(acknowledge.ranges == [.init(first: 1, last: 1)])
            await group.triggerGracefulShutdown()
            try await running
            try await connection.expectDetach()
            try await connection.expectFinalPing()
        }
    }

    @Test(arguments: Order.allCases)
    func `a shutdown without a connection ends`(order: Order) async throws {
        try await FakeDaemon.run { daemon in
            let client = NotifyClient(configuration: .test(daemon.path))
            let group = group(order, client, Consumer(client: client, form: .scoped) { _ in })
            async let running: Void = group.run()
            let connection = try await daemon.accept()
            try await connection.acceptSubscription()
            try await daemon.stopListening()
            try await connection.close()
            await group.triggerGracefulShutdown()
            try await running
        }
    }
}
