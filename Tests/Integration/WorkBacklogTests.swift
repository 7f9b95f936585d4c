import NotifyClient
import Synchronization
import Testing

extension IntegrationTests {
    /// Handlers that return at once. Some of them return while the client sends the answers of others.
    @Suite struct WorkBacklogTests {
        private static let messages = 10_000

        private final class Handled: Sendable {
            private let sequences = Mutex(Set<UInt64>())

            /// Records a message, and returns the number of messages so far.
            func insert(_ sequence: UInt64) -> Int {
                sequences.withLock { sequences in
                    #expect(sequences.insert(sequence).inserted)
                    return sequences.count
                }
            }
        }

        @Test(
            .timeLimit(.minutes(25)),
            arguments: [
                (NotificationClient.SubscriptionKind.durable("w"), 1), (.durable("w"), 4),
                (.durable("w", sharing: .group), 1), (.durable("w", sharing: .group), 4),
            ])
        func `short handlers get every message once`(kind: NotificationClient.SubscriptionKind, parallel: Int)
            async throws
        {
            let daemon = try await Daemon.start()
            let handled = Handled()
            try await withNotificationClient(configuration: .init(socketPath: daemon.socket)) { client in
                try await client.withSubscription(to: "load", as: kind) { _ in }
                try await post(on: client)
                let (ends, end) = AsyncStream<Void>.makeStream()
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask {
                        try await client.work(on: "load", as: kind, parallel: parallel) { message in
                            if handled.insert(message.sequence) == Self.messages { end.finish() }
                        }
                    }
                    for await _ in ends {}
                    group.cancelAll()
                    try await group.waitForAll()
                }
            }
        }

        private func post(on client: NotificationClient) async throws {
            let pipeline = client.postPipeline()
            async let accepted = pipeline.results.reduce(0) { try $0 + ($1.get().sequence > 0 ? 1 : 0) }
            let message = try NotificationClient.OutgoingMessage(name: "load", durability: .stored)
            for _ in 0..<Self.messages { try await pipeline.post(message) }
            pipeline.finish()
            #expect(try await accepted == Self.messages)
        }
    }
}
