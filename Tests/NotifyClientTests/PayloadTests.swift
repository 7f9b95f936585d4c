import Foundation
import NIOCore
import NotifyWire
import Testing

@testable import NotifyClient

/// The types from which a payload can be created, and to which it can be converted.
@Suite(.timeLimit(.minutes(25))) struct PayloadTests {
    private struct Order: Codable, Equatable {
        var number: Int
    }

    /// Sends with a client, and returns the payloads that arrived.
    private func arrivals(
        _ count: Int, of sending: (NotificationClient) async throws -> Void
    ) async throws -> [[UInt8]] {
        try await FakeDaemon.run { daemon in
            let served = Task {
                let connection = try await daemon.accept()
                var payloads: [[UInt8]] = []
                for _ in 0..<count {
                    let post = try await connection.expectPost()
                    payloads.append(post.payload)
                    if post.wantsReceipt { connection.sendReceipt(post.request) }
                }
                return payloads
            }
            try await withNotificationClient(configuration: .test(daemon.path)) { try await sending($0) }
            return try await served.value
        }
    }

    @Test func `any collection of bytes can be posted`() async throws {
        let bytes: [UInt8] = [0, 1, 0xFF]
        let payloads = try await arrivals(9) { client in
            try await client.post("a", bytes)
            try await client.post("a", bytes[1...])
            try await client.post("a", Data(bytes))
            try await client.post("a", ByteBuffer(bytes: bytes).readableBytesView)
            try await client.post("a", repeatElement(7, count: 2))
            try await client.post("a", [1, 2])
            try await client.post("a", "text".utf8)
            try await client.post("a", [])
            try await client.post("a")
        }
        #expect(payloads == [bytes, [1, 0xFF], bytes, bytes, [7, 7], [1, 2], Array("text".utf8), [], []])
    }

    @Test func `each kind of payload has its own encoding, with and without a receipt`() async throws {
        let payloads = try await arrivals(8) { client in
            try await client.post("a", "text")
            try await client.post("a", "text".dropFirst())
            try await client.post("a", json: "text")
            try await client.post("a", json: [1, 2])
            try await client.send("a", "text")
            try await client.send("a", "text".dropFirst())
            try await client.send("a", Data([1, 2])[1...])
            try await client.send("a")
        }
        let texts = payloads.map { String(decoding: $0, as: UTF8.self) }
        #expect(texts == ["text", "ext", "\"text\"", "[1,2]", "text", "ext", "\u{2}", ""])
    }

    @Test func `a value is set to a text or to JSON, if the present one has the expected sequence`() async throws {
        let received = try await FakeDaemon.run { daemon in
            let served = Task {
                let connection = try await daemon.accept()
                var received: [(post: FakeConnection.ReceivedPost, ifSequence: UInt64?)] = []
                for _ in 0..<3 {
                    let set = try await connection.expectSetValue()
                    received.append(set)
                    connection.sendReceipt(set.post.request, durability: set.post.durability)
                }
                return received
            }
            try await withNotificationClient(configuration: .test(daemon.path)) { client in
                try await client.setValue("text", for: "a")
                try await client.setValue(json: "text", for: "a", object: "o", headers: ["k": "v"], ifSequence: 7)
                try await client.setValue(json: Order(number: 3), for: "a", ifSequence: 0, isSynced: true)
                let error = await #expect(throws: NotifyError.self) {
                    try await client.setValue(json: Double.nan, for: "a")
                }
                #expect(error?.code == .coding)
            }
            return try await served.value
        }
        #expect(received.map(\.post.text) == ["text", "\"text\"", "{\"number\":3}"])
        #expect(received.map(\.ifSequence) == [nil, 7, 0])
        #expect(received.map(\.post.object) == ["", "o", ""])
        #expect(received.map(\.post.durability) == [.stored, .stored, .synced])
        #expect(received[1].post.headers.map(\.key) == ["k"])
    }

    @Test func `a message can be made from any collection of bytes`() throws {
        let message = try NotificationClient.OutgoingMessage(name: "a", payload: Data([1, 2]))
        #expect(message.payload == [1, 2])
        #expect(message.with(payload: [3, 4, 5].dropFirst()).payload == [4, 5])
        let empty = try NotificationClient.OutgoingMessage(name: "a", object: "o")
        #expect(empty.payload == [])
    }

    @Test func `payloads are decoded, and messages that can't be decoded can be acknowledged`() async throws {
        let deliveries = ["{\"number\":1}", "poison", "{\"number\":3}"].map {
            FakeDaemon.Delivery(name: "orders.created", payload: $0, headers: [("shop", "north")])
        }
        var orders: [Order] = []
        var errors: [NotifyError] = []
        let acknowledged = try await FakeDaemon.deliver(deliveries) { client in
            try await client.withSubscription(to: "orders.>", as: .durable("billing"), limit: 3) { subscription in
                for try await order in subscription.messages(as: Order.self, onGap: { _ in }) {
                    #expect(order.name == "orders.created" && order.sequence == order.message.sequence)
                    #expect(order.headers["shop"] == "north")
                    do {
                        try orders.append(order.value)
                    } catch let error as NotifyError {
                        #expect(order.message.text == "poison")
                        errors.append(error)
                    }
                    order.acknowledge()
                }
            }
        }
        #expect(orders == [Order(number: 1), Order(number: 3)])
        #expect(errors.map(\.code) == [.coding])
        #expect(errors.first?.message.contains("'orders.created'") == true)
        #expect(errors.first?.message.contains("sequence 2") == true)
        #expect(Set(acknowledged) == [1, 2, 3])
    }

    @Test func `gaps between decoded messages are reported in their position`() async throws {
        let deliveries = [FakeDaemon.Delivery(name: "a", payload: "{\"number\":1}")]
        var events: [String] = []
        try await FakeDaemon.deliver(deliveries, gap: 4) { client in
            try await client.withSubscription(to: "a", limit: 1) { subscription in
                let orders = subscription.messages(as: Order.self) { events.append("gap \($0.missed ?? 0)") }
                for try await order in orders { events.append("order \(try order.value.number)") }
            }
        }
        #expect(events == ["gap 4", "order 1"])
    }
}
