import WireTestSupport
import Foundation
import NotifyWire
import Testing

extension IntegrationTests {
    /// A daemon that is terminated completes the accepted requests, and reports each client's last processed request.
    @Suite struct DrainTests {
        @Test(arguments: [SIGTERM, SIGINT])
        func `posts received before a drain are committed and receipted`(signal: Int32) async throws {
            let daemon = try await Daemon.start()
            let reader = try RawClient(daemon)
            try reader.subscribe("load.>", durable: "reader")
            try reader.detach()
            let client = try RawClient(daemon)
            var posts: [UInt8] = []
            for _ in 0..<8000 {
                posts += postFrame(client.newRequest(), name: Array("load.a".utf8), payload: Array("x".utf8), .stored)
            }
            try client.send(posts)
            daemon.process.send(signal)

            let events = try client.waitForEnd()
            guard case .closing(let closing) = events.last else {
                Issue.record("the last frame is \(String(describing: events.last))")
                return
            }
            let receipts = events.compactMap { if case .receipt(let receipt) = $0 { receipt } else { nil } }
            #expect(receipts.map(\.request) == (1...).prefix(Int(closing.lastRequest)).map { UInt64($0) })
            #expect(receipts.allSatisfy { $0.durability == .stored && $0.stored == 1 })
            #expect(events.count == receipts.count + 1)
            #expect(try await daemon.process.waitForExit() == .status(0))
            #expect(!FileAttributes.exists(daemon.socket))

            // The log contains exactly the receipted messages.
            try await daemon.start()
            let after = try RawClient(daemon)
            try after.subscribe("load.>", durable: "reader", window: 16_384)
            for receipt in receipts {
                let message = try after.message()
                #expect(message.sequence == receipt.sequence && !message.isRedelivery)
            }
            #expect(try after.statistics()["log_messages"] == UInt64(receipts.count))
        }

        @Test func `a drain reports each client's last processed request`() async throws {
            let daemon = try await Daemon.start()
            let idle = try RawClient(daemon)
            let busy = try RawClient(daemon)
            try busy.subscribe("a", as: 1)
            try busy.subscribe("a", as: 2, durable: "held")
            try busy.ping()
            // A connection that has not greeted gets no frames, but is closed like the others.
            let silent = RawClient(try RawSocket(path: daemon.socket))
            daemon.process.send(SIGTERM)
            #expect(try idle.waitForEnd() == [.closing(Closing(lastRequest: 0))])
            #expect(try busy.waitForEnd() == [.closing(Closing(lastRequest: 3))])
            _ = try silent.waitForEnd()
            #expect(try await daemon.process.waitForExit() == .status(0))
        }

        @Test func `acknowledgements received just before a shutdown are kept`() async throws {
            let daemon = try await Daemon.start()
            let client = try RawClient(daemon)
            try client.subscribe("a", durable: "mine")
            let receipts = try (1...5).map { try client.post("a", "\($0)") }
            for _ in receipts { _ = try client.message() }
            try client.acknowledge(through: receipts[2].sequence)
            try client.ping()
            try await daemon.stop()
            try await daemon.start()
            let next = try RawClient(daemon)
            let subscribed = try next.subscribe("a", durable: "mine")
            #expect(subscribed.isResumed)
            let rest = try (4...5).map { _ in try next.message() }
            #expect(rest.map(\.text) == ["4", "5"])
            #expect(rest.allSatisfy { $0.isRedelivery })
        }

        @Test func `a client that does not read delays the shutdown only until the drain timeout`() async throws {
            let daemon = try await Daemon.start(environment: ["NOTIFYD_TIMEOUTS_DRAIN_SECONDS": "1"])
            let deaf = try RawClient(daemon)
            try deaf.subscribe("flood")
            let poster = try RawClient(daemon)
            let payload = String(repeating: "x", count: 100_000)
            for _ in 0..<60 { try poster.send(post: "flood", payload, receipt: false) }
            try poster.ping()
            let began = ContinuousClock.now
            #expect(try await daemon.stop() == .status(0))
            #expect(ContinuousClock.now - began >= .seconds(1))
            #expect(!FileAttributes.exists(daemon.socket))
            guard case .closing = try poster.waitForEnd().last else {
                Issue.record("the reading client got no closing frame")
                return
            }
            withExtendedLifetime(deaf) {}
        }

        @Test func `a second signal and a post during the shutdown do not disturb it`() async throws {
            let daemon = try await Daemon.start()
            let client = try RawClient(daemon)
            try client.post("a", durability: .stored)
            daemon.process.send(SIGTERM)
            daemon.process.send(SIGINT)
            // The send fails if the daemon has already ended.
            _ = try? client.send(post: "too.late", durability: .stored)
            _ = try client.waitForEnd()
            #expect(try await daemon.process.waitForExit() == .status(0))
            try await daemon.start()
            #expect(try RawClient(daemon).statistics()["log_messages"] ?? 0 <= 2)
        }
    }
}
