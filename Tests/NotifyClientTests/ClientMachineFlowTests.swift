import NIOCore
import NotifyWire
import Testing

@testable import NotifyClient

/// Back-pressure, and reports of messages that the client dropped.
@Suite(.timeLimit(.minutes(25))) struct ClientMachineFlowTests {
    private static let pauseReading = NotificationClient.SubscriptionKind.volatile(
        bufferedMessages: 4, whenFull: .pauseReading)

    private func deliver(_ sequences: ClosedRange<UInt64>, _ harness: MachineHarness, _ name: String = "a.b") {
        harness.receive { buffer in
            for sequence in sequences { buffer.writeDelivery(sequence, name) }
        }
    }

    private func take(_ subscription: MachineHarness.Subscribed, _ harness: MachineHarness) async throws -> [UInt64] {
        let taken = try await subscription.buffer.next()
        harness.reportChangedBuffers()
        return taken.sequences
    }

    // MARK: Back-pressure

    @Test func `a full buffer pauses reading until it is half empty`() async throws {
        let harness = try MachineHarness.ready()
        let one = try harness.subscribed([">"], Self.pauseReading)
        deliver(1...1, harness)
        deliver(2...3, harness)
        #expect(harness.readsConnection)
        deliver(4...6, harness)
        #expect(!harness.readsConnection)
        #expect(try await take(one, harness) == [1])
        #expect(try await take(one, harness) == [2, 3])
        #expect(!harness.readsConnection, "3 of 4 are left")
        #expect(try await take(one, harness) == [4, 5, 6])
        #expect(harness.readsConnection)
        #expect(one.buffer.droppedCount == 0)
    }

    @Test func `buffered bytes pause reading`() async throws {
        let harness = try MachineHarness.ready()
        _ = try harness.subscribed([">"], .volatile(bufferedBytes: 100, whenFull: .pauseReading))
        harness.receive { $0.writeDelivery(1, payload: String(repeating: "x", count: 100)) }
        #expect(!harness.readsConnection)
    }

    @Test func `posts are sent while reading is paused`() throws {
        let harness = try MachineHarness.ready()
        _ = try harness.subscribed([">"], Self.pauseReading)
        deliver(1...4, harness)
        _ = try harness.send("a.b", "text")
        #expect(try harness.readPosts().map(\.text) == ["text"])
    }

    @Test func `ending the full subscription resumes reading`() throws {
        let harness = try MachineHarness.ready()
        let one = try harness.subscribed([">"], Self.pauseReading)
        deliver(1...4, harness)
        _ = harness.leave(one)
        #expect(harness.readsConnection)
    }

    @Test func `reading resumes while another subscription is being left`() async throws {
        let harness = try MachineHarness.ready()
        _ = try harness.subscribed([">"], Self.pauseReading)
        let other = try harness.subscribed([">"])
        deliver(1...4, harness)
        let left = harness.leave(other)
        #expect(harness.readsConnection)
        let detach: Detach = try #require(try harness.read().last).read()
        harness.receive { Detached(request: detach.request, subscription: detach.subscription).write(to: &$0) }
        try await left.wait()
        #expect(!harness.readsConnection)
    }

    @Test func `stopping resumes reading`() throws {
        let harness = try MachineHarness.ready()
        _ = try harness.subscribed([">"], Self.pauseReading)
        deliver(1...4, harness)
        harness.stop()
        #expect(harness.readsConnection)
    }

    @Test func `a new connection is read until the subscription is confirmed, then paused again`() throws {
        let harness = try MachineHarness.ready()
        _ = try harness.subscribed([">"], Self.pauseReading)
        deliver(1...4, harness)
        harness.disconnect()
        #expect(harness.readsConnection)
        harness.advance(by: .seconds(1))
        try harness.connect()
        #expect(harness.readsConnection)
        _ = try harness.acceptSubscriptions(after: 4)
        #expect(!harness.readsConnection)
    }

    @Test func `a subscription that has reached its limit or has ended does not pause reading`() async throws {
        let harness = try MachineHarness.ready()
        let limited = try harness.subscribe([">"], Self.pauseReading, limit: 1)
        _ = try harness.acceptSubscriptions()
        deliver(1...4, harness)
        #expect(!harness.readsConnection)
        #expect(try await take(limited, harness) == [1])
        #expect(harness.readsConnection)

        let ended = try harness.subscribed([">"], Self.pauseReading)
        deliver(5...8, harness)
        #expect(!harness.readsConnection)
        ended.buffer.put(.end(nil))
        harness.reportChangedBuffers()
        #expect(harness.readsConnection)
        #expect(try await take(ended, harness) == [5, 6, 7, 8])
    }

    // MARK: Reports

    private func reports(_ harness: MachineHarness) throws -> [Dropped] {
        try harness.read().filter { $0.kind == .dropped }.map { try $0.read(Dropped.self) }
    }

    @Test func `drops are reported together after a delay`() throws {
        let harness = try MachineHarness.ready()
        let one = try harness.subscribed(["a.>"], .volatile(bufferedMessages: 2))
        let other = try harness.subscribed([">"], .volatile(bufferedMessages: 3))
        deliver(1...5, harness)
        deliver(6...7, harness)
        #expect(!harness.hasOutgoing)
        harness.advance(by: FlowControl.reportInterval)
        #expect(harness.hasOutgoing)
        let all = [Dropped(subscription: one.number, messages: 5), Dropped(subscription: other.number, messages: 4)]
        #expect(try reports(harness) == all)
        harness.advance(by: FlowControl.reportInterval)
        #expect(!harness.hasOutgoing, "nothing was dropped since")
        deliver(8...8, harness)
        harness.advance(by: FlowControl.reportInterval)
        #expect(try reports(harness).map(\.messages) == [1, 1])
    }

    @Test func `reports of drops join other writes`() throws {
        let harness = try MachineHarness.ready()
        let one = try harness.subscribed([">"], .volatile(bufferedMessages: 2))
        deliver(1...5, harness)
        _ = try harness.send()
        let frames = try harness.read()
        #expect(frames.map(\.kind) == [.post, .dropped])
        #expect(try frames[1].read() == Dropped(subscription: one.number, messages: 3))
    }

    @Test func `ending a subscription reports its last drops first`() throws {
        let harness = try MachineHarness.ready()
        let one = try harness.subscribed([">"], .volatile(bufferedMessages: 2))
        deliver(1...5, harness)
        _ = harness.leave(one)
        #expect(try harness.read().map(\.kind) == [.dropped, .detach])
        harness.advance(by: FlowControl.reportInterval)
        #expect(!harness.hasOutgoing)
    }

    @Test func `unreported drops are reported on the next connection`() throws {
        let harness = try MachineHarness.ready()
        let one = try harness.subscribed([">"], .volatile(bufferedMessages: 2))
        deliver(1...5, harness)
        try harness.reconnect()
        _ = try harness.acceptSubscriptions(after: 5)
        harness.advance(by: FlowControl.reportInterval)
        #expect(try reports(harness) == [Dropped(subscription: one.number, messages: 3)])
    }
}
