import NotifyClient
import NotifyWire
import TestSupport
import Testing

extension IntegrationTests {
    /// Volatile subscriptions that begin with stored messages, while more are posted.
    @Suite struct LogSnapshotRaceTests {
        private static let rounds = 20
        private static let perRound = 500

        /// Posts stored messages with ascending numbers, each followed by a message that is not stored. Reports the end
        /// of each round.
        private func post(on client: NotificationClient, _ rounds: AsyncStream<Int>.Continuation) async throws {
            let pipeline = client.postPipeline()
            async let accepted = pipeline.results.reduce(0) { try $0 + ($1.get().sequence > 0 ? 1 : 0) }
            let stored = try NotificationClient.OutgoingMessage(name: "load", durability: .stored)
            let live = try NotificationClient.OutgoingMessage(name: "load", durability: .volatile)
            for round in 0..<Self.rounds {
                for number in round * Self.perRound..<(round + 1) * Self.perRound {
                    try await pipeline.post(stored.with(payload: Array("\(number)".utf8)))
                    try await pipeline.post(live.with(payload: Array("live".utf8)))
                }
                rounds.yield(round)
            }
            rounds.finish()
            pipeline.finish()
            #expect(try await accepted == 2 * Self.rounds * Self.perRound)
        }

        /// Reads all stored messages from the first one on.
        private func read(_ configuration: NotificationClient.Configuration, buffered: Int) async throws {
            try await withNotificationClient(configuration: configuration) { client in
                let kind = NotificationClient.SubscriptionKind.volatile(from: .oldest, bufferedMessages: buffered)
                var (expected, last) = (0, UInt64(0))
                try await client.withSubscription(to: "load", as: kind) { subscription in
                    for try await batch in subscription.batches {
                        #expect(batch.gaps.allSatisfy { $0.reason == .consumerTooSlow })
                        for message in batch {
                            #expect(message.sequence > last)
                            last = message.sequence
                            if message.text == "live" { continue }
                            #expect(message.text == "\(expected)")
                            expected += 1
                        }
                        if expected == Self.rounds * Self.perRound { break }
                    }
                }
                #expect(expected == Self.rounds * Self.perRound)
            }
        }

        @Test func `a subscription made while messages are posted misses and repeats no stored message`() async throws {
            let daemon = try await Daemon.start()
            let configuration = daemon.patientConfiguration
            let (stream, continuation) = AsyncStream<Int>.makeStream()
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    try await withNotificationClient(configuration: configuration) {
                        try await post(on: $0, continuation)
                    }
                }
                for await _ in stream {
                    group.addTask { try await read(configuration, buffered: 65_536) }
                }
                try await group.waitForAll()
            }
        }
    }
}
