import NotifyWire
import Testing

@testable import NotifyClient

/// The shutdown of a client by a service group before the consumers of its subscriptions.
@Suite(.timeLimit(.minutes(25))) struct ClientMachineShutdownTests {
    private func shutDown(_ harness: MachineHarness) -> (service: Outcome, end: Outcome) {
        let (service, end) = (ReplySlot<Void>(), ReplySlot<Void>())
        harness.process { [now = harness.now] in $0.awaitServiceEnd(service, now: now, &$1) }
        harness.process { $0.awaitEnd(end, &$1) }
        harness.process { [now = harness.now] in $0.shutDownGracefully(now: now, &$1) }
        return (Outcome(slot: service), Outcome(slot: end))
    }

    /// Checks without waiting whether a slot has been answered. The check itself answers a slot that is still open, so
    /// only the first check is valid.
    private struct Outcome {
        let slot: ReplySlot<Void>
        var isAnswered: Bool { !slot.answer(.success(())) }
    }

    @Test func `without subscriptions, the client stops`() throws {
        let harness = try MachineHarness.ready()
        let (service, end) = shutDown(harness)
        let ping: Ping = try #require(try harness.read().last).read()
        harness.receive { Pong(request: ping.request).write(to: &$0) }
        #expect(harness.channel == .close)
        harness.disconnect()
        #expect(service.isAnswered && end.isAnswered)
    }

    @Test func `the service ends first, and the client stops with the last subscription`() throws {
        let harness = try MachineHarness.ready()
        let subscriptions = [try harness.subscribed(["a"]), try harness.subscribed(["b"], .durable("d"))]
        let (service, end) = shutDown(harness)
        #expect(service.isAnswered)
        for subscription in subscriptions {
            #expect(harness.channel == .connect)
            _ = harness.leave(subscription)
            let detach: Detach = try #require(try harness.read().last).read()
            harness.receive { Detached(request: detach.request, subscription: detach.subscription).write(to: &$0) }
        }
        let ping: Ping = try #require(try harness.read().last).read()
        harness.receive { Pong(request: ping.request).write(to: &$0) }
        #expect(harness.channel == .close)
        harness.disconnect()
        #expect(end.isAnswered)
    }

    @Test func `the service ends when earlier posts are answered`() async throws {
        let harness = try MachineHarness.ready()
        _ = try harness.subscribed(["a"])
        _ = try harness.post("a", "before")
        let service = ReplySlot<Void>()
        harness.process { [now = harness.now] in $0.shutDownGracefully(now: now, &$1) }
        harness.process { [now = harness.now] in $0.awaitServiceEnd(service, now: now, &$1) }
        let after = try harness.post("a", "after")
        let posts = try harness.readPosts()
        #expect(posts.map(\.text) == ["before", "after"])
        harness.receive { buffer in
            Receipt(request: posts[0].request, sequence: 1, subscribers: 0, stored: 0, durability: .volatile)
                .write(to: &buffer)
        }
        #expect(Outcome(slot: service).isAnswered)
        harness.receive { buffer in
            Receipt(request: posts[1].request, sequence: 2, subscribers: 0, stored: 0, durability: .volatile)
                .write(to: &buffer)
        }
        #expect(try await after.wait().sequence == 2)
    }

    @Test func `open subscriptions end after half of the timeout, and the connection after all of it`() async throws {
        let harness = try MachineHarness.ready()
        let one = try harness.subscribed([">"], .durable("d"))
        harness.receive { $0.writeRun(one.number, [1]) }
        let (_, end) = shutDown(harness)
        let half = NotificationClient.Configuration.manual.closingTimeout / 2
        harness.advance(by: half - .nanoseconds(1))
        harness.receive { $0.writeRun(one.number, [2]) }
        harness.advance(by: .nanoseconds(1))
        harness.receive { $0.writeRun(one.number, [3]) }
        #expect(try await one.buffer.next().sequences == [1])
        #expect(try await one.buffer.next().sequences == [2])
        #expect(try await one.buffer.next().isEmpty)
        try harness.acknowledge(one, 1, 2)
        let acknowledge: Acknowledge = try #require(try harness.read().first).read()
        #expect(acknowledge.ranges == [.init(first: 1, last: 2)])
        #expect(harness.channel == .connect)
        harness.advance(by: half)
        #expect(harness.channel == .close)
        harness.disconnect()
        #expect(end.isAnswered)
    }

    @Test func `a connection lost during the shutdown is reestablished`() throws {
        let harness = try MachineHarness.ready()
        _ = try harness.subscribed([">"])
        _ = shutDown(harness)
        try harness.reconnect()
        #expect(try harness.acceptSubscriptions().count == 1)
    }

    @Test func `stopping ends the shutdown immediately`() throws {
        let harness = try MachineHarness.ready()
        _ = try harness.subscribed([">"])
        let (_, end) = shutDown(harness)
        harness.disconnect()
        harness.stop()
        #expect(end.isAnswered)
    }
}
