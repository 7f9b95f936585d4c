import NIOCore
import NotifyWire
import Testing

@testable import NotifyClient

@Suite(.timeLimit(.minutes(25))) struct ClientMachineDurableTests {
    private func durable(window: Int? = nil) -> NotificationClient.SubscriptionKind {
        .durable("d", from: .oldest, window: window)
    }

    private func acknowledged(_ harness: MachineHarness) throws -> [SequenceRange] {
        try harness.read().filter { $0.kind == .acknowledge }.flatMap { try $0.read(Acknowledge.self).ranges }
    }

    @Test func `a run belongs only to its durable subscription`() async throws {
        let harness = try MachineHarness.ready()
        let volatile = try harness.subscribed([">"])
        let first = try harness.subscribed(["a.>"], durable())
        let second = try harness.subscribed(["a.>"], .durable("e"))
        harness.receive { buffer in
            buffer.writeRun(first.number, [1, 2])
            buffer.writeDelivery(2)
            buffer.writeRun(second.number, [2])
            buffer.writeRun(99, [3])
            buffer.writeDelivery(4)
        }
        #expect(try await volatile.drain().sequences == [2, 4])
        #expect(try await first.drain().sequences == [1, 2])
        #expect(try await second.drain().sequences == [2])
    }

    @Test func `a run may span reads`() async throws {
        let harness = try MachineHarness.ready()
        let one = try harness.subscribed([">"], durable())
        harness.receive { buffer in
            Run(subscription: one.number, count: 2, isRedelivery: true).write(to: &buffer)
            buffer.writeDelivery(1)
        }
        harness.receive { $0.writeDelivery(2) }
        for sequence: UInt64 in [1, 2] {
            let taken = try await one.buffer.next()
            #expect(taken.sequences == [sequence])
            #expect(taken.batch?.entries[0].isRedelivered == true)
        }
    }

    @Test func `acknowledgements of one write form one frame, and consecutive ones form one range`() throws {
        let harness = try MachineHarness.ready()
        let one = try harness.subscribed([">"], durable())
        harness.receive { $0.writeRun(one.number, [5, 8, 9]) }
        try harness.acknowledge(one, 5, 8, 9)
        let frames = try harness.read()
        #expect(frames.map(\.kind) == [.acknowledge])
        #expect(
            try frames[0].read(Acknowledge.self)
                == Acknowledge(subscription: one.number, ranges: [.init(first: 5, last: 5), .init(first: 8, last: 9)]))
    }

    @Test func `ranges beyond the frame limit are split into several frames`() throws {
        let harness = try MachineHarness.ready()
        let one = try harness.subscribed([">"], durable(window: Int(Limits.maximumWindow)))
        harness.receive { $0.writeRun(one.number, Array(1...5000)) }
        for sequence in stride(from: UInt64(1), through: 5000, by: 2) { try harness.acknowledge(one, sequence) }
        let frames = try harness.read().map { try $0.read(Acknowledge.self).ranges.count }
        #expect(frames == [1024, 1024, 452])
    }

    @Test func `after a reconnect, no message is repeated, and unconfirmed acknowledgements are resent`() async throws {
        let harness = try MachineHarness.ready()
        let one = try harness.subscribed([">"], durable())
        harness.receive { $0.writeRun(one.number, [1, 2, 3]) }
        #expect(try await one.drain().sequences == [1, 2, 3])
        try harness.acknowledge(one, 1)
        try harness.reconnect()
        try harness.acknowledge(one, 2)
        let frames = try harness.acceptSubscriptions(after: 0, isResumed: true)
        #expect(frames.map(\.durableName) == ["d"])
        #expect(try acknowledged(harness).isEmpty, "the daemon accepts acknowledgements only after redelivery")
        harness.receive { $0.writeRun(one.number, [1, 2, 3], isRedelivery: true) }
        #expect(try acknowledged(harness) == [.init(first: 1, last: 2)])
        harness.receive { $0.writeRun(one.number, [4]) }
        let seen = try await one.drain()
        #expect(seen.sequences == [4])
        #expect(seen.gaps.isEmpty)
        try harness.acknowledge(one, 3, 4)
        #expect(try acknowledged(harness) == [.init(first: 3, last: 4)])
    }

    @Test func `a removed subscription is created again after a reconnect, with a gap`() async throws {
        let harness = try MachineHarness.ready()
        let one = try harness.subscribed([">"], durable())
        harness.receive { $0.writeRun(one.number, [1]) }
        try harness.reconnect()
        _ = try harness.acceptSubscriptions(after: 0, isResumed: false)
        harness.receive { $0.writeRun(one.number, [1]) }
        let seen = try await one.drain()
        #expect(seen.sequences == [1, 1])
        #expect(seen.gaps.map(\.reason) == [.recreated])
    }

    @Test func `a new generation forgets deliveries and acknowledgements`() async throws {
        let harness = try MachineHarness.ready()
        let one = try harness.subscribe([">"], durable())
        _ = try harness.acceptSubscriptions(generation: 7)
        harness.receive { $0.writeRun(one.number, [1, 2]) }
        let earlier = try #require(try await one.buffer.next().batch)
        try harness.acknowledge(one, 1)
        try harness.reconnect()
        _ = try harness.acceptSubscriptions(generation: 8, isResumed: true)
        harness.receive { $0.writeRun(one.number, [1, 2], isRedelivery: true) }
        let seen = try await one.drain()
        #expect(seen.sequences == [1, 2])
        #expect(seen.gaps.map(\.reason) == [.recreated])
        // An acknowledgement of a delivery before the reset does not apply to the delivery after the reset.
        earlier.acknowledge(1)
        #expect(try acknowledged(harness).isEmpty)
        try harness.acknowledge(one, 2)
        #expect(try acknowledged(harness) == [.init(first: 2, last: 2)])
    }

    @Test func `a second subscription of the same name is refused and the first remains`() async throws {
        let harness = try MachineHarness.ready()
        let first = try harness.subscribed([">"], durable())
        let second = try harness.subscribe([">"], durable())
        #expect(await second.openWaiter.code() == .subscriptionInUse)
        await #expect(throws: NotifyError.self) { try await second.buffer.next() }
        #expect(try harness.read().isEmpty)
        harness.receive { $0.writeRun(first.number, [1]) }
        #expect(try await first.drain().sequences == [1])
        // Another name denotes another subscription. After a detach, the same name can be used again.
        _ = try harness.subscribed([">"], .durable("e"))
        _ = harness.leave(first)
        _ = try harness.read()
        let third = try harness.subscribed([">"], durable())
        _ = try await third.openWaiter.wait()
    }

    @Test func `a second subscription of the same name is refused without a connection`() async throws {
        let harness = MachineHarness()
        _ = try harness.subscribe([">"], durable())
        let second = try harness.subscribe([">"], durable())
        #expect(await second.openWaiter.code() == .subscriptionInUse)
    }

    @Test func `a message redelivered from another member is passed on`() async throws {
        let harness = try MachineHarness.ready()
        let one = try harness.subscribed([">"], durable())
        harness.receive { $0.writeRun(one.number, [1, 3]) }
        try harness.acknowledge(one, 1, 3)
        // Another member received message 2 first. The daemon redelivers message 2 here before it receives the
        // acknowledgements.
        #expect(try acknowledged(harness) == [.init(first: 1, last: 1), .init(first: 3, last: 3)])
        harness.receive { $0.writeRun(one.number, [2], isRedelivery: true) }
        #expect(try await one.drain().sequences == [1, 3, 2])
        try harness.acknowledge(one, 2)
        #expect(try acknowledged(harness) == [.init(first: 2, last: 2)])
    }

    @Test(arguments: [ErrorCode.subscriptionHeld, .subscriptionMismatch, .forbidden])
    func `a subscription refused after a reconnect ends with the reason`(code: ErrorCode) async throws {
        let harness = try MachineHarness.ready()
        let one = try harness.subscribed([">"], durable())
        try harness.reconnect()
        let subscribe: Subscribe = try harness.read()[0].read()
        harness.receive { ErrorFrame(request: subscribe.request, code: code, detail: 42, message: "no").write(to: &$0) }
        let error = await #expect(throws: NotifyError.self) { try await one.buffer.next() }
        #expect(error?.code == NotifyError.Code(code) && error?.detail == 42)
    }

    @Test func `a subscription that is taken over ends with the reason and the others remain`() async throws {
        let harness = try MachineHarness.ready()
        let one = try harness.subscribed([">"], durable())
        let other = try harness.subscribed([">"])
        harness.receive { buffer in
            buffer.writeRun(one.number, [1])
            ErrorFrame(code: .takenOver, subscription: one.number, message: "taken").write(to: &buffer)
            buffer.writeDelivery(2)
        }
        #expect(try await one.buffer.next().sequences == [1])
        let error = await #expect(throws: NotifyError.self) { try await one.buffer.next() }
        #expect(error?.code == .takenOver)
        #expect(try await other.drain().sequences == [2])
    }

    @Test func `detaching sends the acknowledgements first`() async throws {
        let harness = try MachineHarness.ready()
        let one = try harness.subscribed([">"], durable())
        harness.receive { $0.writeRun(one.number, [1, 2]) }
        try harness.acknowledge(one, 1)
        _ = harness.leave(one)
        try harness.acknowledge(one, 2)
        let frames = try harness.read()
        #expect(frames.map(\.kind) == [.acknowledge, .detach])
        #expect(try frames[0].read(Acknowledge.self).ranges == [.init(first: 1, last: 1)])
    }

    @Test func `an unconfirmed detach is an error`() async throws {
        let harness = try MachineHarness.ready()
        let slow = harness.leave(try harness.subscribed([">"], durable()))
        _ = try harness.read()
        harness.advance(by: .seconds(5))
        #expect(await slow.code() == .outcomeUnknown)
        let cut = harness.leave(try harness.subscribed([">"], .durable("e")))
        harness.disconnect()
        #expect(await cut.code() == .outcomeUnknown)
    }

    @Test(arguments: ["waiting", "requested", "live"])
    func `leaving fails if the connection was lost before an acknowledgement was sent`(_ phase: String) async throws {
        let harness = try MachineHarness.ready()
        let one = try harness.subscribed([">"], durable())
        harness.receive { $0.writeRun(one.number, [1]) }
        harness.disconnect()
        try harness.acknowledge(one, 1)
        if phase != "waiting" {
            harness.advance(by: .seconds(1))
            try harness.connect()
        }
        if phase == "live" { _ = try harness.acceptSubscriptions(isResumed: true) }
        let left = harness.leave(one)
        if phase != "waiting" {
            let detach: Detach = try #require(try harness.read().last).read()
            harness.receive { Detached(request: detach.request, subscription: one.number).write(to: &$0) }
        }
        #expect(await left.code() == .outcomeUnknown)
    }

    /// Either the daemon delivers the message again, or the client acknowledges a whole window of later messages. In
    /// the second case another member may have processed the message, so the client forgets the acknowledgement.
    @Test(arguments: [true, false])
    func `leaving succeeds once an unsent acknowledgement is obsolete`(_ isDeliveredAgain: Bool) async throws {
        let harness = try MachineHarness.ready()
        let one = try harness.subscribed([">"], .durable("d", window: 2))
        harness.receive { $0.writeRun(one.number, [1]) }
        harness.disconnect()
        try harness.acknowledge(one, 1)
        harness.advance(by: .seconds(1))
        try harness.connect()
        _ = try harness.acceptSubscriptions(isResumed: true)
        harness.receive { $0.writeRun(one.number, isDeliveredAgain ? [1] : [2, 3]) }
        if !isDeliveredAgain { try harness.acknowledge(one, 2, 3) }
        let left = harness.leave(one)
        let frames = try harness.read()
        #expect(frames.map(\.kind) == [.acknowledge, .detach])
        let detach: Detach = try #require(frames.last).read()
        harness.receive { Detached(request: detach.request, subscription: one.number).write(to: &$0) }
        #expect(await left.code() == nil)
    }

    // MARK: Limits

    @Test func `the credit is the limit of messages, and after a reconnect the rest of the limit`() async throws {
        let harness = try MachineHarness.ready()
        let one = try harness.subscribe([">"], durable(), limit: 3)
        #expect(try harness.acceptSubscriptions().map(\.credit) == [3])
        harness.receive { $0.writeRun(one.number, [1, 2]) }
        try harness.acknowledge(one, 1)
        try harness.reconnect()
        #expect(try harness.acceptSubscriptions(after: 0, isResumed: true).map(\.credit) == [1])
        harness.receive { $0.writeRun(one.number, [1], isRedelivery: true) }
        var credits = try harness.read().filter { $0.kind == .credit }.map { try $0.read(Credit.self).messages }
        #expect(credits == [1], "a repetition returns its credit")
        harness.receive { $0.writeRun(one.number, [2], isRedelivery: true) }
        credits = try harness.read().filter { $0.kind == .credit }.map { try $0.read(Credit.self).messages }
        #expect(credits == [1])
        harness.receive { $0.writeRun(one.number, [3]) }
        #expect(try await one.buffer.next().sequences == [1, 2])
        #expect(try await one.buffer.next().sequences == [3])
        #expect(try await one.buffer.next().isEmpty)
    }

    @Test func `at the limit, unconfirmed acknowledgements are resent after a reconnect`() throws {
        let harness = try MachineHarness.ready()
        let one = try harness.subscribe([">"], durable(), limit: 2)
        _ = try harness.acceptSubscriptions()
        harness.receive { $0.writeRun(one.number, [1, 2]) }
        try harness.acknowledge(one, 1, 2)
        try harness.reconnect()
        #expect(try harness.acceptSubscriptions(after: 0, isResumed: true).map(\.credit) == [0])
        // One extra credit lets the daemon repeat the first message. The client grants another credit after that
        // repetition, but none after the last repetition.
        var frames = try harness.read()
        #expect(frames.map(\.kind) == [.credit])
        harness.receive { $0.writeRun(one.number, [1], isRedelivery: true) }
        frames = try harness.read()
        #expect(Set(frames.map(\.kind)) == [.credit, .acknowledge])
        harness.receive { $0.writeRun(one.number, [2], isRedelivery: true) }
        frames = try harness.read()
        #expect(frames.map(\.kind) == [.acknowledge])
    }
}
