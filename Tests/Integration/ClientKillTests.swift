import Foundation
import NotifyCenter
import NotifyClient
import TestSupport
import Testing

extension IntegrationTests {
    /// One client posts and another reads while the daemon is killed and restarted several times. The clients are not
    /// restarted.
    @Suite struct ClientKillTests {
        private static let rounds = 10
        /// The minimum number of receipts per round, so that the daemon is killed under load even on a slow machine.
        private static let minimumReceiptsPerRound = 60

        @Test func `a durable reader receives every receipted post once and in order`() async throws {
            let seed = UInt64.random(in: .min ... .max)
            print("client kill rounds: seed \(seed)")
            var random = SeededGenerator(seed: seed)
            let daemon = try await Daemon.start()
            var configuration = daemon.patientConfiguration
            configuration.backoff = .milliseconds(5) ... .milliseconds(20)
            let reader = NotificationClient(configuration: configuration)
            let running = Task { try await reader.run() }
            let subscription = try await reader.subscribe(to: ["load.>"], as: .durable("reader", window: 64))
            let reading = Task { try await Self.read(subscription) }

            var receipted: [UInt64] = []
            var unknown = 0
            try await withNotificationClient(configuration: configuration) { client in
                let isOver = Watched(false)
                let receipts = Watched(0)
                let posting = Task { try await Self.post(through: client, until: isOver, counting: receipts) }
                for round in 1...Self.rounds {
                    try await Self.pause(.milliseconds(.random(in: 20...200, using: &random)))
                    // A slow machine may need longer than the pause.
                    _ = try await receipts.wait("receipts") { $0 >= round * Self.minimumReceiptsPerRound ? true : nil }
                    try await daemon.kill()
                    try await daemon.start()
                }
                isOver.update { $0 = true }
                for outcome in try await posting.value {
                    switch outcome {
                    case .success(let receipt): receipted.append(receipt.sequence)
                    case .failure(let error):
                        #expect(error.code == .outcomeUnknown)
                        unknown += 1
                    }
                }
                try await client.post("load.end", "end", durability: .stored)
            }
            let seen = try await reading.value
            await reader.stop()
            try await running.value
            #expect(zip(seen, seen.dropFirst()).allSatisfy { $0 < $1 })
            #expect(Set(receipted).subtracting(seen).isEmpty)
            #expect(zip(receipted, receipted.dropFirst()).allSatisfy { $0 < $1 })
            #expect(receipted.count >= Self.rounds * Self.minimumReceiptsPerRound)
            print("client kill rounds: \(receipted.count) receipts, \(unknown) unknown, \(seen.count) read")
        }

        /// Posts until `isOver` is set and counts the receipts.
        ///
        /// - Returns: The outcome of each post.
        private static func post(
            through client: NotificationClient, until isOver: Watched<Bool>, counting receipts: Watched<Int>
        ) async throws -> [NotificationClient.PostPipeline.Outcome] {
            let pipeline = client.postPipeline(capacity: 200)
            async let outcomes = pipeline.results.reduce(into: [NotificationClient.PostPipeline.Outcome]()) {
                $0.append($1)
                if case .success = $1 { receipts.update { $0 += 1 } }
            }
            let message = try NotificationClient.OutgoingMessage(name: NotificationName("load.a"), durability: .stored)
            var number = 0
            while !isOver.current {
                number += 1
                try await pipeline.post(message.with(payload: Array("\(number)".utf8)))
            }
            pipeline.finish()
            return try await outcomes
        }

        /// Reads up to the last message.
        ///
        /// - Returns: The sequences in the order of delivery.
        private static func read(_ subscription: NotificationClient.Subscription) async throws -> [UInt64] {
            var sequences: [UInt64] = []
            for try await case .message(let message) in subscription {
                sequences.append(message.sequence)
                message.acknowledge()
                if message.name == "load.end" { break }
            }
            try await subscription.leave()
            return sequences
        }

        /// Waits while the load runs. The daemon must be killed at a random time, for which there is no event.
        private static func pause(_ duration: Duration) async throws {
            let isOver = Watched(false)
            DispatchQueue.global().asyncAfter(deadline: .now() + .nanoseconds(Int(duration / .nanoseconds(1)))) {
                isOver.update { $0 = true }
            }
            _ = try await isOver.wait("a moment") { $0 ? true : nil }
        }
    }
}
