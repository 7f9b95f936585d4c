import Foundation
import NotifyClient
import NotifyWire
import TestSupport
import Testing

extension IntegrationTests {
    /// Consumers that use the client library and read more slowly than messages arrive.
    @Suite struct SlowConsumerTests {
        private static let count = 200_000
        private static let buffered = 1000

        /// Starts a daemon with this limit in bytes for the outboxes of a connection and of a user.
        private func start(outboxBytes: Int) async throws -> Daemon {
            let folder = try TemporaryFolder()
            let file = folder.file("notifyd.yaml")
            try "limits: {per_connection: {outbox_bytes: \(outboxBytes)}, per_user: {outbox_bytes: \(outboxBytes)}}"
                .write(toFile: file, atomically: true, encoding: .utf8)
            return try await Daemon.start(["--config", file], folder: folder)
        }

        /// Subscribes, posts all messages, and waits for their receipts. Then runs `body`, which consumes the messages.
        ///
        /// - Returns: The daemon's statistics.
        private func consume(
            outboxBytes: Int, _ whenFull: NotificationClient.FullBufferPolicy,
            _ body: (NotificationClient.Subscription, NotificationClient) async throws -> Void
        ) async throws -> [String: UInt64] {
            let daemon = try await start(outboxBytes: outboxBytes)
            let configuration = daemon.patientConfiguration
            try await withNotificationClient(configuration: configuration) { client in
                let kind = NotificationClient.SubscriptionKind.volatile(
                    bufferedMessages: Self.buffered, whenFull: whenFull)
                try await client.withSubscription(to: "load", as: kind) { subscription in
                    try await withNotificationClient(configuration: configuration) { try await post(on: $0) }
                    try await body(subscription, client)
                }
            }
            return try Bystander(daemon).statistics()
        }

        private func post(on client: NotificationClient) async throws {
            let pipeline = client.postPipeline()
            async let accepted = pipeline.results.reduce(0) { try $0 + ($1.get().subscribers == 1 ? 1 : 0) }
            let message = try NotificationClient.OutgoingMessage(name: "load", durability: .volatile)
            try await pipeline.post(
                contentsOf: (0..<Self.count).lazy.map { message.with(payload: Array("\($0)".utf8)) })
            pipeline.finish()
            #expect(try await accepted == Self.count)
        }

        /// Reads until every message was delivered or reported in a gap.
        private func read(_ subscription: NotificationClient.Subscription) async throws -> (delivered: Int, missed: Int)
        {
            var (delivered, missed) = (0, 0)
            for try await batch in subscription.batches {
                missed += batch.gaps.reduce(0) { $0 + Int($1.missed ?? 0) }
                for message in batch {
                    // Messages must arrive in order and without repetitions.
                    #expect(message.text == "\(delivered + missed)")
                    delivered += 1
                }
                if delivered + missed >= Self.count { break }
            }
            return (delivered, missed)
        }

        @Test func `a subscriber that pauses reading drops nothing`() async throws {
            let statistics = try await consume(outboxBytes: 256 << 20, .pauseReading) { subscription, _ in
                let (delivered, missed) = try await read(subscription)
                #expect(delivered == Self.count && missed == 0)
                #expect(subscription.droppedCount == 0)
            }
            #expect(statistics["dropped"] == 0)
            #expect(statistics["dropped_by_clients"] == 0)
        }

        @Test func `a subscriber that pauses reading beyond the daemon's buffer gets the dropped count`() async throws {
            let statistics = try await consume(outboxBytes: 1 << 20, .pauseReading) { subscription, _ in
                let (delivered, missed) = try await read(subscription)
                #expect(delivered + missed == Self.count && missed > 0)
                #expect(subscription.droppedCount == 0)
            }
            #expect(statistics["dropped", default: 0] > 0)
            #expect(statistics["dropped_by_clients"] == 0)
        }

        @Test func `messages dropped by a subscriber are counted by the daemon`() async throws {
            let statistics = try await consume(outboxBytes: 256 << 20, .dropOldest) { subscription, client in
                // The pong arrives after all messages.
                try await client.ping()
                let (delivered, missed) = try await read(subscription)
                #expect(delivered == Self.buffered && missed == Self.count - Self.buffered)
                #expect(subscription.droppedCount == UInt64(missed))
            }
            #expect(statistics["dropped"] == 0)
            #expect(statistics["dropped_by_clients"] == UInt64(Self.count - Self.buffered))
        }
    }
}
