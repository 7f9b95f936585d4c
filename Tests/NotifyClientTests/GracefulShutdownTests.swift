import Logging
import NotifyWire
import ServiceLifecycle
import Testing

@testable import NotifyClient

/// Shutdowns of a service group with a client and a service that consumes one of its subscriptions.
@Suite(.timeLimit(.minutes(25))) struct GracefulShutdownTests {
    enum Order: CaseIterable { case clientFirst, consumerFirst }
    enum Form: CaseIterable { case scoped, batches, closure, withoutLeaving }

    /// Consumes a durable subscription and acknowledges every message.
    private struct Consumer: Service {
        let client: NotificationClient
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
                        for message in batch {
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

        private func consume(_ subscription: NotificationClient.Subscription) async throws {
            for try await case .message(let message) in subscription {
                try await process(message.text ?? "")
                message.acknowledge()
            }
        }
    }

    private func group(_ order: Order, _ client: NotificationClient, _ consumer: some Service) -> ServiceGroup {
        let services: [any Service] = order == .clientFirst ? [client, consumer] : [consumer, client]
        return ServiceGroup(
            services: services, logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }))
    }

    @Test(arguments: Order.allCases, Form.allCases)
    func `a consumer finishes received messages, and their acknowledgements precede the end`(
        order: Order, form: Form
    ) async throws {
        try await FakeDaemon.run { daemon in
            let client = NotificationClient(configuration: .test(daemon.path))
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
            let client = NotificationClient(configuration: .test(daemon.path))
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
            let client = NotificationClient(configuration: .test(daemon.path))
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

    // MARK: Without a daemon

    /// Runs a service with a client whose daemon is not running, and shuts the group down while the client waits for
    /// the daemon.
    private func shutDownWithoutDaemon(
        _ order: Order, _ run: @escaping @Sendable (NotificationClient) async throws -> Void
    ) async throws {
        try await FakeDaemon.run(listening: false) { daemon in
            let attempts = Inbox<Void>()
            var configuration = NotificationClient.Configuration.test(daemon.path)
            configuration.connectionWait = .seconds(86_400)
            configuration.onConnectionChange = { _ in attempts.put(()) }
            let client = NotificationClient(configuration: configuration)
            let group = group(order, client, ClosureService { try await run(client) })
            async let running: Void = group.run()
            try await attempts.next()
            await group.triggerGracefulShutdown()
            try await running
        }
    }

    @Test(arguments: Order.allCases, Form.allCases)
    func `a shutdown ends the wait for the first connection with success`(order: Order, form: Form) async throws {
        try await shutDownWithoutDaemon(order) { client in
            try await Consumer(client: client, form: form) { _ in }.run()
        }
    }

    @Test(arguments: Order.allCases)
    func `a shutdown ends the wait of a worker with success`(order: Order) async throws {
        try await shutDownWithoutDaemon(order) { client in
            try await client.work(on: ">", as: .durable("d", sharing: .group)) { _ in }
        }
    }

    @Test func `a shutdown ends the wait for the stored messages of a subscription with success`() async throws {
        try await shutDownWithoutDaemon(.clientFirst) { client in
            try await client.subscribe(to: ">", as: .volatile(from: .oldest), onGap: { _ in }) { _ in }
        }
    }

    @Test(arguments: [nil, 7 as UInt32])
    func `a shutdown ends the wait for dead letters with success if the sequence follows the log`(
        uid: UInt32?
    ) async throws {
        try await shutDownWithoutDaemon(.clientFirst) { client in
            for try await _ in try await client.administration.deadLetters(follows: true, uid: uid) {
                Issue.record("there is no dead letter")
            }
            let error = await #expect(throws: NotifyError.self) {
                for try await _ in try await client.administration.deadLetters(uid: uid) {}
            }
            #expect(error?.code == .cancelled)
        }
    }

    @Test func `a shutdown ends the wait of posts and other requests with an error`() async throws {
        try await shutDownWithoutDaemon(.clientFirst) { client in
            let post = await #expect(throws: NotifyError.self) { try await client.post("a.b") }
            #expect(post?.code == .cancelled)
            let send = await #expect(throws: NotifyError.self) { try await client.send("a.b") }
            #expect(send?.code == .cancelled)
            let ping = await #expect(throws: NotifyError.self) { try await client.ping() }
            #expect(ping?.code == .cancelled)
        }
    }

    @Test func `a shutdown ends the wait of a pipeline's posts`() async throws {
        try await shutDownWithoutDaemon(.clientFirst) { client in
            let pipeline = client.postPipeline(capacity: 2)
            let message = try NotificationClient.OutgoingMessage(name: "a")
            try await pipeline.post(contentsOf: [message, message])
            var results = pipeline.results.makeAsyncIterator()
            #expect(try await [results.next()?.code, results.next()?.code] == [.cancelled, .cancelled])
            // Without a connection, later posts don't wait.
            try await pipeline.post(message)
            #expect(try await results.next()?.code == .cancelled)
        }
    }

    @Test func `a request that was sent does not wait for a second connection after a shutdown`() async throws {
        try await FakeDaemon.run { daemon in
            let errors = Inbox<NotifyError>()
            var configuration = NotificationClient.Configuration.test(daemon.path)
            configuration.connectionWait = .seconds(86_400)
            let client = NotificationClient(configuration: configuration)
            let service = ClosureService {
                await withTaskGroup(of: Void.self) { group in
                    group.addTask {
                        do throws(NotifyError) { try await client.post("a") } catch { errors.put(error) }
                    }
                    group.addTask {
                        do throws(NotifyError) {
                            _ = try await client.administration.statistics()
                        } catch {
                            errors.put(error)
                        }
                    }
                }
            }
            let group = ServiceGroup(
                services: [service], logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }))
            async let running: Void = group.run()
            async let client2: Void = client.run()
            let connection = try await daemon.accept()
            for _ in 0..<2 { _ = try await connection.next() }
            await group.triggerGracefulShutdown()
            try await daemon.stopListening()
            connection.send(Closing(lastRequest: 0))
            try await connection.close()
            #expect(try await [errors.next(), errors.next()].map(\.code) == [.cancelled, .cancelled])
            try await running
            await client.stop()
            try await client2
        }
    }
}

extension NotificationClient.PostPipeline.Outcome {
    /// The code of the error; nil for a receipt.
    fileprivate var code: NotifyError.Code? {
        if case .failure(let error) = self { error.code } else { nil }
    }
}
