import WireTestSupport
import Foundation
import NotifyWire
import TestSupport
import Testing

extension IntegrationTests {
    /// Clients that post, read and acknowledge on one connection with a full post window. No client waits forever.
    @Suite struct FullWindowTests {
        /// The messages that one client received.
        private struct Outcome: Sendable {
            var receipts: [UInt64] = []
            var durable: [UInt64] = []
            var volatile = 0
            var missed = 0
        }

        @Test(arguments: [(count: 20_000, size: 16), (count: 2000, size: 20_000), (count: 60, size: 1_000_000)])
        func `two clients that post before they read do not deadlock`(count: Int, size: Int) async throws {
            let daemon = try await Daemon.start()
            let outcomes = try await onThreads(2) { number in
                try Self.exchange(daemon, as: number, count: count, payload: [UInt8](repeating: 7, count: size))
            }
            let posted = Set(outcomes.flatMap(\.receipts))
            #expect(posted.count == 2 * count)
            for outcome in outcomes {
                // The durable subscription receives each message once. The volatile subscription receives each message,
                // or reports it as dropped. Messages from before this subscription also count as missed.
                #expect(outcome.durable.count == 2 * count)
                #expect(Set(outcome.durable) == posted)
                #expect(zip(outcome.durable, outcome.durable.dropFirst()).allSatisfy { $0 < $1 })
                #expect(outcome.volatile + outcome.missed == 2 * count)
            }
        }

        @Test func `a client that writes a whole window before it reads is served`() async throws {
            let daemon = try await Daemon.start()
            let client = try RawClient(daemon)
            try client.subscribe("all.>", as: 1, durable: "mine")
            try client.subscribe("all.>", as: 2)
            var posts: [UInt8] = []
            for _ in 0..<8192 {
                posts += postFrame(
                    client.newRequest(), name: Array("all.a".utf8), payload: [UInt8](repeating: 7, count: 200), .stored)
            }
            try client.send(posts, readingMeanwhile: false)
            var receipts = 0
            while receipts < 8192 {
                if case .receipt(let receipt) = try client.next() {
                    #expect(receipt.durability == .stored)
                    receipts += 1
                }
            }
        }

        @Test func `posts beyond the window are refused one by one`() async throws {
            let daemon = try await Daemon.start(environment: ["NOTIFYD_LIMITS_PER_CONNECTION_POST_WINDOW": "10"])
            let client = try RawClient(daemon)
            var posts: [UInt8] = []
            for _ in 0..<1000 {
                posts += postFrame(client.newRequest(), name: [0x61], .stored)
            }
            try client.send(posts)
            var receipts = 0
            for _ in 0..<1000 {
                switch try client.next() {
                case .receipt: receipts += 1
                case .error(let error): #expect(ErrorCode(rawValue: error.code) == .postWindowExceeded)
                case let event: Issue.record("unexpected event: \(event)")
                }
            }
            #expect(receipts >= 10)
            #expect(try client.statistics()["log_messages"] == UInt64(receipts))
        }

        /// Posts as far as the window allows, and reads and acknowledges until all messages have arrived.
        private static func exchange(_ daemon: Daemon, as number: Int, count: Int, payload: [UInt8]) throws -> Outcome {
            let client = try RawClient(daemon)
            try client.subscribe("all.>", as: 1, durable: "client\(number)", from: .oldest)
            let since = try client.subscribe("all.>", as: 2).sequence
            var outcome = Outcome()
            // The messages from before the volatile subscription, which does not receive them.
            var early: Set<UInt64> = []
            var sent = 0
            while outcome.receipts.count < count || outcome.durable.count < 2 * count {
                var posts: [UInt8] = []
                while sent < count, sent - outcome.receipts.count < 8192, posts.count < 1 << 20 {
                    posts += postFrame(client.newRequest(), name: Array("all.\(number)".utf8), payload: payload)
                    sent += 1
                }
                if !posts.isEmpty { try client.send(posts) }
                switch try client.next(within: .seconds(300), "more than \(outcome.durable.count) messages") {
                case .receipt(let receipt): outcome.receipts.append(receipt.sequence)
                case .gap(let gap): outcome.missed += Int(gap.dropped)
                case .message(let message) where message.subscription == 1:
                    outcome.durable.append(message.sequence)
                    if message.sequence <= since { early.insert(message.sequence) }
                    if outcome.durable.count % 64 == 0 || outcome.durable.count == 2 * count {
                        try client.acknowledge(1, through: message.sequence)
                    }
                    if message.isRedelivery { throw TimedOut(description: "\(message.sequence) came twice") }
                case .message: outcome.volatile += 1
                case let event: throw TimedOut(description: "client \(number) got \(event)")
                }
            }
            // Volatile messages also arrive in the order of their sequences, but possibly later than durable messages.
            while outcome.volatile + outcome.missed + early.count < 2 * count {
                switch try client.next() {
                case .gap(let gap): outcome.missed += Int(gap.dropped)
                case .message: outcome.volatile += 1
                case let event: throw TimedOut(description: "client \(number) got \(event) at the end")
                }
            }
            outcome.missed += early.count
            return outcome
        }
    }
}
