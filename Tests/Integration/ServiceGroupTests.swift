import Logging
import NotifyClient
import NotifyWire
import ServiceLifecycle
import Synchronization
import TestSupport
import Testing

extension IntegrationTests {
    /// A client and a consumer in a service group that is shut down while messages arrive.
    @Suite struct ServiceGroupTests {
        private final class Consumer: Service {
            let client: NotificationClient
            /// The sequences of the processed messages. The client acknowledges each message when its handler returns.
            let processed = Mutex<[UInt64]>([])
            private let reached: AsyncStream<Void>.Continuation
            private let goal: Int

            init(_ client: NotificationClient, goal: Int, reached: AsyncStream<Void>.Continuation) {
                self.client = client
                self.goal = goal
                self.reached = reached
            }

            func run() async throws {
                try await client.subscribe(to: "a", as: .durable("d", window: 16), onGap: { _ in }) { message in
                    let count = processed.withLock { processed in
                        processed.append(message.sequence)
                        return processed.count
                    }
                    if count == goal { reached.yield() }
                }
            }
        }

        /// Runs a group until `count` messages were processed, and shuts it down.
        ///
        /// - Returns: The sequences of the processed messages.
        private func process(_ count: Int, _ daemon: Daemon, clientIsFirst: Bool) async throws -> [UInt64] {
            let client = NotificationClient(configuration: .init(socketPath: daemon.socket))
            let (reached, continuation) = AsyncStream.makeStream(of: Void.self)
            let consumer = Consumer(client, goal: count, reached: continuation)
            let services: [any Service] = clientIsFirst ? [client, consumer] : [consumer, client]
            let group = ServiceGroup(
                services: services, logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }))
            async let running: Void = group.run()
            for await _ in reached { break }
            await group.triggerGracefulShutdown()
            try await running
            return consumer.processed.withLock { $0 }
        }

        @Test func `the group ends in either service order with every acknowledgement committed`() async throws {
            let daemon = try await Daemon.start()
            let poster = try RawClient(daemon)
            try poster.subscribe("a", durable: "d")
            try poster.detach()
            let sequences = try (0..<2000).map { try poster.post("a", "\($0)").sequence }
            var processed: [UInt64] = []
            for clientIsFirst in [true, false, true, false] {
                processed += try await process(20, daemon, clientIsFirst: clientIsFirst)
                // No message was processed twice across the groups, so every acknowledgement was committed.
                #expect(processed == Array(sequences.prefix(processed.count)))
                try await withNotificationClient(configuration: .init(socketPath: daemon.socket)) { client in
                    let kept = try await client.administration.durableSubscriptions().first { $0.name == "d" }
                    #expect(kept?.holderPID == nil)
                    #expect(kept?.cursor == processed.last)
                }
            }
        }
    }
}
