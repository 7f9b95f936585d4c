import WireTestSupport
import Foundation
import NotifyWire
import Testing

extension IntegrationTests {
    /// Subscribers that do not read. They delay no other client, and lose no message without a report.
    @Suite struct SlowSubscriberTests {
        private let payload = String(repeating: "x", count: 50_000)
        /// Fewer bytes than the messages of a test have together.
        private let smallOutbox = ["NOTIFYD_LIMITS_PER_CONNECTION_OUTBOX_BYTES": "4194304"]

        @Test func `a slow volatile subscriber receives the dropped count`() async throws {
            let daemon = try await Daemon.start(environment: smallOutbox)
            let bystander = try Bystander(daemon)
            let deaf = try RawClient(daemon)
            try deaf.subscribe("flood")
            let poster = try RawClient(daemon)
            var sequences: [UInt64] = []
            for _ in 0..<400 { sequences.append(try poster.post("flood", payload).sequence) }
            try bystander.expectUndisturbed()

            var delivered: [UInt64] = []
            var missed: UInt64 = 0
            var last: UInt64 = 0
            while delivered.count + Int(missed) < sequences.count {
                switch try deaf.next() {
                case .message(let message):
                    #expect(message.sequence > last && message.subscription == 0)
                    delivered.append(message.sequence)
                    last = message.sequence
                case .gap(let gap):
                    // The gap is at the position of the dropped messages, and counts exactly these messages.
                    #expect(gap.range.first > last && gap.range.first <= gap.range.last)
                    let range = gap.range.first...gap.range.last
                    #expect(gap.dropped == UInt64(sequences.count { range.contains($0) }))
                    #expect(!delivered.contains { range.contains($0) })
                    missed += gap.dropped
                    last = gap.range.last
                case let event: Issue.record("unexpected event: \(event)")
                }
            }
            #expect(missed > 0)
            #expect(delivered.last == sequences.last)
            let statistics = try bystander.statistics()
            #expect(statistics["dropped"] == missed)
            #expect(statistics["gaps", default: 0] >= 1)
            // The subscriber receives later messages as usual.
            let receipt = try poster.post("flood", "after")
            #expect(try deaf.message().sequence == receipt.sequence)
        }

        @Test func `a subscriber that keeps the latest gets the latest message of each name`() async throws {
            let daemon = try await Daemon.start(environment: smallOutbox)
            let deaf = try RawClient(daemon, overflow: .keepLatest)
            try deaf.subscribe("state.*")
            let poster = try RawClient(daemon)
            var latest: [String: UInt64] = [:]
            var count: UInt64 = 0
            for _ in 0..<100 {
                for name in ["state.a", "state.b", "state.c"] {
                    latest[name] = try poster.post(name, payload).sequence
                    count += 1
                }
            }
            var got: [String: UInt64] = [:]
            var seen: UInt64 = 0
            while seen < count {
                switch try deaf.next() {
                case .message(let message):
                    got[message.name] = message.sequence
                    seen += 1
                case .gap(let gap): seen += gap.dropped
                case let event: Issue.record("unexpected event: \(event)")
                }
            }
            #expect(seen == count)
            #expect(got == latest)
        }

        @Test func `a subscriber with the disconnect policy is closed on overflow`() async throws {
            let daemon = try await Daemon.start(environment: smallOutbox)
            let bystander = try Bystander(daemon)
            let deaf = try RawClient(daemon, overflow: .disconnect)
            try deaf.subscribe("flood")
            let poster = try RawClient(daemon)
            for _ in 0..<200 { try poster.post("flood", payload) }
            try bystander.expectUndisturbed()
            guard case .error(let error) = try deaf.waitForEnd().last else {
                Issue.record("the connection was closed without an error")
                return
            }
            #expect(ErrorCode(rawValue: error.code) == .tooSlow)
            #expect(error.isFatal)
        }

        @Test func `a slow durable subscriber keeps its position`() async throws {
            let daemon = try await Daemon.start()
            let bystander = try Bystander(daemon)
            let deaf = try RawClient(daemon)
            try deaf.subscribe("flood", durable: "deaf")
            let poster = try RawClient(daemon)
            // More messages than the ring of the log's tail holds.
            let sequences = try (0..<500).map { _ in try poster.post("flood", payload).sequence }
            try bystander.expectUndisturbed()
            for sequence in sequences {
                let message = try deaf.message()
                #expect(message.sequence == sequence && !message.isRedelivery)
                try deaf.acknowledge(through: sequence)
            }
            let statistics = try bystander.statistics()
            #expect(statistics["dropped"] == 0)
            #expect(statistics["pages_read", default: 0] > 0)
        }

        @Test func `messages in flight do not exceed the window`() async throws {
            let daemon = try await Daemon.start()
            let client = try RawClient(daemon)
            try client.subscribe("a", durable: "mine", window: 3)
            let sequences = try (0..<7).map { try client.post("a", "\($0)").sequence }
            var seen: [UInt64] = []
            for expected in [3, 4, 7] {
                while seen.count < expected { seen.append(try client.message().sequence) }
                try client.ping()
                #expect(client.isQuiet)
                // The first acknowledgement frees one place in the window, and each later one frees the whole window.
                try client.acknowledge(through: expected == 3 ? seen[0] : seen[expected - 1])
            }
            #expect(seen == sequences)
        }

        @Test func `deliveries do not exceed the credit`() async throws {
            let daemon = try await Daemon.start()
            let client = try RawClient(daemon)
            try client.subscribe("a", as: 5, durable: "mine", credit: 2)
            let sequences = try (0..<6).map { try client.post("a", "\($0)").sequence }
            var seen = try (0..<2).map { _ in try client.message().sequence }
            try client.acknowledge(5, through: seen[1])
            try client.ping()
            #expect(client.isQuiet)
            try client.send(Credit(subscription: 5, messages: 3))
            seen += try (0..<3).map { _ in try client.message().sequence }
            try client.acknowledge(5, through: seen[4])
            // Messages beyond the credit were never sent, so they are not marked as redeliveries later.
            try client.detach(5)
            #expect(client.isQuiet)
            let next = try RawClient(daemon)
            try next.subscribe("a", durable: "mine", credit: 1)
            let last = try next.message()
            #expect(last.sequence == sequences[5] && !last.isRedelivery)
            #expect(seen == Array(sequences[..<5]))
        }
    }
}
