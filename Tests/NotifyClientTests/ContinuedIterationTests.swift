import NotifyCenter
import NotifyWire
import Testing

@testable import NotifyClient

/// A sequence keeps its position when an iterator ends, so the next loop continues after a `break`. The exception: a
/// sequence of stored messages begins again.
@Suite(.timeLimit(.minutes(25))) struct ContinuedIterationTests {
    private static func deliveries(_ count: Int) -> [FakeDaemon.Delivery] {
        (1...count).map { .init(name: "a.b", payload: "\($0)") }
    }

    /// Runs a test with a subscription that gets a gap of one message, and then ten messages in one read.
    @discardableResult
    private func withTenMessages(
        as kind: NotificationClient.SubscriptionKind = .volatile(),
        _ body: (NotificationClient.Subscription) async throws -> Void
    ) async throws -> [UInt64] {
        try await FakeDaemon.deliver(Self.deliveries(10), gap: 1) { client in
            try await client.withSubscription(to: "a.*", as: kind, limit: 10) { try await body($0) }
        }
    }

    @Test func `a loop continues where an earlier one stopped`() async throws {
        try await withTenMessages { subscription in
            var read: [String] = []
            while read.count < 11 {
                for try await event in subscription {
                    switch event {
                    case .gap(let gap): read.append("gap of \(gap.missed ?? 0)")
                    case .message(let message): read.append(message.text ?? "")
                    }
                    break
                }
            }
            #expect(read == ["gap of 1"] + (1...10).map(String.init))
            #expect(subscription.droppedCount == 0)
        }
    }

    @Test func `loops that end after one message read a durable subscription in order`() async throws {
        let acknowledged = try await withTenMessages(as: .durable("d")) { subscription in
            for number in 1...10 {
                for try await message in subscription.messages(onGap: { _ in }) {
                    #expect(message.text == "\(number)")
                    message.acknowledge()
                    break
                }
            }
        }
        #expect(acknowledged == Array(2...11))
    }

    @Test func `every kind of sequence continues where another one stopped`() async throws {
        try await withTenMessages { subscription in
            let second = try await subscription.messages(onGap: { _ in }).first { $0.text == "2" }
            #expect(second?.text == "2")
            // This iterator stays in use while other sequences read.
            var events = subscription.makeAsyncIterator()
            guard case .message(let third)? = try await events.next() else {
                Issue.record("no message")
                return
            }
            #expect(third.text == "3")
            let fourth = try await subscription.messages(as: Int.self, onGap: { _ in }).first { _ in true }
            #expect(try fourth?.value == 4)
            let batch = try await subscription.batches.first { _ in true }
            #expect(batch?.map(\.text) == (5...10).map(String.init))
            guard try await events.next() == nil else {
                Issue.record("a message was read twice")
                return
            }
        }
    }

    @Test func `the outcomes of a pipeline continue after a break`() async throws {
        try await FakeDaemon.run { daemon in
            try await withNotificationClient(configuration: .test(daemon.path)) { client in
                async let served: Void = {
                    let connection = try await daemon.accept()
                    for number in 0..<10 {
                        let post = try await connection.expectPost()
                        connection.sendReceipt(post.request, sequence: UInt64(number))
                    }
                }()
                let pipeline = client.postPipeline()
                let message = try NotificationClient.OutgoingMessage(name: "a.b")
                try await pipeline.post(contentsOf: Array(repeating: message, count: 10))
                pipeline.finish()
                try await served
                var sequences: [UInt64] = []
                while sequences.count < 5, let outcome = try await pipeline.results.first(where: { _ in true }) {
                    sequences.append(try outcome.get().sequence)
                }
                for try await outcomes in pipeline.batches { sequences += try outcomes.map { try $0.get().sequence } }
                #expect(sequences == Array(0..<10))
            }
        }
    }

    @Test func `a second loop over a sequence that follows the log begins where the first one began`() async throws {
        try await FakeDaemon.run { daemon in
            try await withNotificationClient(configuration: .test(daemon.path)) { client in
                let sequence = try client.log("a.*", from: .now, follows: true)
                async let served: [UInt64] = {
                    let connection = try await daemon.accept()
                    let find: Find = try await connection.expect()
                    connection.send(Found(request: find.request, sequence: 8, last: 7))
                    var starts: [UInt64] = []
                    for _ in 0..<2 {
                        let read: ReadLog = try await connection.expect()
                        starts.append(read.first)
                        connection.send { buffer in
                            LogPage(request: read.request, count: 1, isEnd: false, through: 8).write(to: &buffer)
                            buffer.writeDelivery(8)
                        }
                    }
                    return starts
                }()
                for _ in 0..<2 {
                    for try await event in sequence {
                        guard case .message(let message) = event else { continue }
                        #expect(message.sequence == 8)
                        break
                    }
                }
                #expect(try await served == [8, 8])
            }
        }
    }
}
