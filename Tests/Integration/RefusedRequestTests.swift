import WireTestSupport
import Foundation
import NotifyWire
import Testing

extension IntegrationTests {
    /// Well-formed but invalid requests: each is answered with an error code, and the connection stays open.
    @Suite struct RefusedRequestTests {
        private static let longName = String(repeating: "n", count: 256)

        @Test func `invalid names are refused`() async throws {
            let daemon = try await Daemon.start()
            let client = try RawClient(daemon)
            let bystander = try Bystander(daemon)
            let names: [[UInt8]] =
                ["", ".", "a.", ".a", "a..b", "a b", "a\tb", "a\u{7F}", "a\u{85}b", "*", "a.*", "a.>", ">.a"].map {
                    Array($0.utf8)
                } + [
                    [0xFF, 0xFE], [0x61, 0xC0, 0x80], [0xED, 0xA0, 0x80], [0x61, 0],
                    Array((1...33).map { "\($0)" }.joined(separator: ".").utf8),
                ]
            for name in names {
                expectRefusal(.invalidName) { try client.post(bytes: name) }
            }
            for name in ["ü.ñ", "a*", "a.*b", "a.>b", Self.longName.dropLast(1) + ""] {
                try client.post(name, durability: .stored)
            }
            try bystander.expectUndisturbed()
        }

        @Test func `invalid patterns are refused`() async throws {
            let daemon = try await Daemon.start()
            let client = try RawClient(daemon)
            for pattern in ["", ".", "a.", "a..*", "a.>.b", ">.", "> ", "a b", "a.\u{1}"] {
                expectRefusal(.invalidPattern) { try client.subscribe(pattern) }
                expectRefusal(.invalidPattern) { try client.subscribe("fine", pattern, durable: "d") }
            }
            for count in [0, 65] {
                let request = client.newRequest()
                let patterns = (0..<count).map { "p\($0)" }
                try client.send(Subscribe(request: request, subscription: 1, patterns: patterns))
                expectRefusal(.invalidPattern) { _ = try client.receipt(of: request) }
            }
            #expect(try client.list().isEmpty)
            #expect(try client.subscribe("*", "a.>", "*.b").isResumed == false)
        }

        @Test func `invalid parts of a message are refused`() async throws {
            let daemon = try await Daemon.start()
            let client = try RawClient(daemon)
            let limit = Limits.defaultPayloadBytes
            expectRefusal(.payloadTooLarge) { try client.post(payload: [UInt8](repeating: 0, count: limit + 1)) }
            try client.post(payload: [UInt8](repeating: 0, count: limit))
            expectRefusal(.invalidObject) { try client.post(object: [0xFF]) }
            expectRefusal(.unsupported) { try client.post(messageID: [0x61]) }
            expectRefusal(.invalidHeaders) { try client.post(headers: [1, 0]) }
            expectRefusal(.invalidHeaders) { try client.post(headers: [0, 0, 0]) }
            expectRefusal(.invalidHeaders) { try client.post(headers: [1, 0, 0, 0x61, 1, 0, 0, 0x61]) }
            let headers = try HeaderList.encode((0..<64).map { ("k\($0)", "v") })
            try client.post(headers: headers)
            expectRefusal(.invalidHeaders) { try client.post(headers: headers + [2, 0, 0, 0x6B, 0x2B]) }
            try client.post(object: Array(repeating: 0x6F, count: 255))
        }

        @Test func `request numbers that do not increase are refused`() async throws {
            let daemon = try await Daemon.start()
            let client = try RawClient(daemon)
            try client.post("a")
            let old = postFrame(1, name: [0x61])
            let none = postFrame(0, name: [0x61])
            for post in [old, none] {
                try client.send(post)
                #expect(ErrorCode(rawValue: try client.error().code) == .invalidArgument)
            }
            try client.post("a")
        }

        @Test func `unknown flags and values are refused`() async throws {
            let daemon = try await Daemon.start()
            let client = try RawClient(daemon)
            var flagged = postFrame(client.newRequest(), name: [0x61])
            flagged[5] |= 0x80
            try client.send(flagged)
            #expect(ErrorCode(rawValue: try client.error().code) == .unsupported)
            var durability = postFrame(client.newRequest(), name: [0x61])
            durability[8 + 13] = 4
            try client.send(durability)
            #expect(ErrorCode(rawValue: try client.error().code) == .invalidArgument)
            try client.ping()
        }

        @Test func `invalid subscriptions are refused`() async throws {
            let daemon = try await Daemon.start()
            let client = try RawClient(daemon)
            let other = try RawClient(daemon)
            expectRefusal(.subscriptionInUse) { try client.subscribe("a", as: 0) }
            try client.subscribe("a", as: 1)
            expectRefusal(.subscriptionInUse) { try client.subscribe("b", as: 1) }
            for name in ["a b", "ü", "a/b", String(repeating: "n", count: 65)] {
                expectRefusal(.invalidSubscriptionName) { try client.subscribe("a", as: 2, durable: name) }
            }
            expectRefusal(.limitReached) { try client.subscribe("a", as: 2, durable: "d", window: 16_385) }
            try client.subscribe("a", as: 2, durable: String(repeating: "n", count: 64), window: 16_384)

            try client.subscribe("a", "b.*", as: 3, durable: "mine")
            expectRefusal(.subscriptionMismatch) { try other.subscribe("a", durable: "mine") }
            expectRefusal(.subscriptionMismatch) { try other.subscribe("a", "b.*", durable: "mine", object: "o") }
            let held = #expect(throws: Refused.self) { try other.subscribe("b.*", "a", durable: "mine") }
            #expect(held?.code == .subscriptionHeld)
            #expect(held?.frame.detail == UInt64(getpid()))
            expectRefusal(.subscriptionInUse) { try other.remove("mine") }
            expectRefusal(.unknownSubscription) { try other.remove("nobodys") }
            expectRefusal(.unknownSubscription) { try other.detach(3) }
            try client.detach(3)
            #expect(try other.subscribe("b.*", "a", durable: "mine").isResumed)
        }

        @Test func `acknowledging an undelivered message is refused`() async throws {
            let daemon = try await Daemon.start()
            let bystander = try Bystander(daemon)
            let client = try RawClient(daemon)
            try client.subscribe("a", as: 7, durable: "mine", window: 2)
            let receipts = try (0..<4).map { try client.post("a", "\($0)") }
            let seen = try (0..<2).map { _ in try client.message() }
            #expect(seen.map(\.sequence) == receipts.prefix(2).map(\.sequence))
            for beyond in [receipts[2].sequence, receipts[3].sequence, 1 << 52, .max] {
                try client.acknowledge(7, (receipts[0].sequence, beyond))
                let error = try client.error()
                #expect(ErrorCode(rawValue: error.code) == .notDelivered)
                #expect(error.subscription == 7 && error.request == 0)
            }
            try client.acknowledge(8, (1, 1))
            #expect(ErrorCode(rawValue: try client.error().code) == .unknownSubscription)
            try client.send(Credit(subscription: 9, messages: 1))
            #expect(ErrorCode(rawValue: try client.error().code) == .unknownSubscription)
            // An invalid acknowledgement is ignored as a whole, including its valid ranges.
            try client.ping()
            try client.acknowledge(7, (receipts[0].sequence, receipts[1].sequence))
            #expect(try (0..<2).map { _ in try client.message().text } == ["2", "3"])
            try bystander.expectUndisturbed()
        }
    }
}

extension RawClient {
    /// Posts a message whose parts may be invalid, and waits for the receipt.
    @discardableResult
    fileprivate func post(
        bytes name: [UInt8] = [0x61], object: [UInt8] = [], headers: [UInt8] = [], messageID: [UInt8] = [],
        payload: [UInt8] = []
    ) throws -> Receipt {
        let request = newRequest()
        try send(
            postFrame(request, name: name, object: object, messageID: messageID, headers: headers, payload: payload))
        return try receipt(of: request)
    }
}
