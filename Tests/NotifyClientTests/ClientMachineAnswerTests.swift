import NIOCore
import NotifyWire
import Testing

@testable import NotifyClient

@Suite(.timeLimit(.minutes(25))) struct ClientMachineAnswerTests {
    /// Takes the messages that have arrived.
    private func messages(
        _ harness: MachineHarness, _ subscription: MachineHarness.Subscribed, count: Int
    ) async throws -> [NotificationClient.Message] {
        var messages: [NotificationClient.Message] = []
        while messages.count < count {
            let taken = try await subscription.buffer.next()
            let batch = try #require(taken.batch)
            messages += taken.range.map { NotificationClient.Message(batch: batch, index: $0) }
        }
        harness.reportChangedBuffers()
        return messages
    }

    /// Subscribes to `a.>`, and confirms the subscription as the daemon.
    private func attached(
        _ harness: MachineHarness, _ kind: NotificationClient.SubscriptionKind = .durable("d", window: 4),
        limit: Int? = nil
    ) throws -> MachineHarness.Subscribed {
        try harness.subscribed(["a.>"], kind, limit: limit)
    }

    /// Reports pending answers to the machine, and returns the frames that the machine then writes.
    private func flush(_ harness: MachineHarness, _ subscription: MachineHarness.Subscribed) throws -> [FakeConnection
        .Received]
    {
        let ledger = try #require(subscription.ledger)
        harness.process { machine, _ in machine.acknowledgementsPending(ledger) }
        return try harness.read()
    }

    @Test func `each answer is sent in a frame of its kind`() async throws {
        let harness = try MachineHarness.ready()
        let one = try attached(harness)
        harness.receive { buffer in
            buffer.writeRun(one.number, [1, 2], delivery: 1)
            buffer.writeRun(one.number, [3, 4], isRedelivery: true, delivery: 3)
        }
        let got = try await messages(harness, one, count: 4)
        #expect(got.map(\.delivery) == [1, 1, 3, 3])
        got[0].reject(delay: .seconds(5), reason: String(repeating: "é", count: 700))
        got[1].giveBack()
        got[2].deadLetter(reason: "broken")
        got[3].extendDeadline(.seconds(60))
        let frames = try flush(harness, one)
        #expect(frames.map(\.kind) == [.reject, .reject, .reject, .extend])
        let reason = String(repeating: "é", count: 638) + "…"
        #expect(
            try frames.prefix(3).map { try $0.read(Reject.self) } == [
                Reject(
                    subscription: one.number, sequence: 1, delayMicroseconds: 5_000_000, delivery: 1, reason: reason),
                Reject(subscription: one.number, sequence: 2, outcome: .returned, delivery: 1),
                Reject(subscription: one.number, sequence: 3, outcome: .dead, delivery: 3, reason: "broken"),
            ])
        #expect(
            try frames[3].read(Extend.self)
                == Extend(subscription: one.number, sequences: [4], microseconds: 60_000_000))
        got[3].extendDeadline()
        #expect(try flush(harness, one)[0].read(Extend.self).microseconds == 0)
        for message in got.prefix(3) { message.acknowledge() }
        got[2].reject()
        #expect(try flush(harness, one).isEmpty, "only the first answer counts")
    }

    @Test(arguments: [(-1, 0), (30 * 86_400 + 1, 30 * 86_400)])
    func `delays are kept within the limits of the protocol`(_ seconds: Int, _ sent: UInt64) async throws {
        let harness = try MachineHarness.ready()
        let one = try attached(harness)
        harness.receive { $0.writeRun(one.number, [1]) }
        try await messages(harness, one, count: 1)[0].reject(delay: .seconds(seconds))
        #expect(try flush(harness, one)[0].read(Reject.self).delayMicroseconds == sent * 1_000_000)
    }

    @Test func `rejected messages and messages whose deadline has passed are delivered again`() async throws {
        let harness = try MachineHarness.ready()
        let one = try attached(harness)
        harness.receive { $0.writeRun(one.number, [1, 2, 3]) }
        let got = try await messages(harness, one, count: 3)
        got[0].giveBack()
        got[1].reject()
        _ = try flush(harness, one)
        harness.receive { buffer in
            buffer.writeRun(one.number, [4])
            buffer.writeRun(one.number, [2, 3], isRedelivery: true, delivery: 2)
            buffer.writeRun(one.number, [1], isRedelivery: true)
        }
        let again = try await messages(harness, one, count: 4)
        #expect(again.map(\.sequence) == [4, 2, 3, 1] && again.map(\.delivery) == [1, 2, 2, 1])
        got[2].reject()
        #expect(try flush(harness, one).isEmpty, "a late rejection has no effect")
        got[2].acknowledge()
        #expect(try flush(harness, one).map(\.kind) == [.acknowledge], "a late acknowledgement counts")
    }

    @Test func `acknowledged messages without confirmation are not handed out after a reconnect`() async throws {
        let harness = try MachineHarness.ready()
        let one = try attached(harness)
        harness.receive { $0.writeRun(one.number, [1, 2, 3]) }
        let got = try await messages(harness, one, count: 3)
        got[0].acknowledge()
        got[1].reject()
        _ = try flush(harness, one)
        try harness.reconnect()
        _ = try harness.acceptSubscriptions(isResumed: true)
        harness.receive { $0.writeRun(one.number, [2, 3, 1], isRedelivery: true, delivery: 2) }
        #expect(try await messages(harness, one, count: 1).map(\.sequence) == [2], "the consumer still has 3")
        got[2].reject(reason: "late")
        let frames = try flush(harness, one)
        #expect(frames.map(\.kind) == [.acknowledge, .reject])
        #expect(try frames[0].read(Acknowledge.self).ranges == [SequenceRange(first: 1, last: 1)])
        #expect(try frames[1].read(Reject.self).sequence == 3)
    }

    @Test func `messages are given back if a stalled consumer already holds the maximum`() throws {
        let harness = try MachineHarness.ready()
        let one = try attached(harness)
        harness.receive { $0.writeRun(one.number, Array(1...9)) }
        let frames = try harness.read()
        #expect(
            try frames.map { try $0.read(Reject.self) } == [
                Reject(subscription: one.number, sequence: 9, outcome: .returned)
            ])
    }

    @Test func `a subscription is taken over at its first attachment only`() throws {
        let harness = try MachineHarness.ready()
        let settings = NotificationClient.DurableSettings(deadline: .seconds(1))
        _ = try harness.subscribe(["a.>"], .durable("d", sharing: .group, settings: settings, takesOver: true))
        let first = try harness.acceptSubscriptions()[0]
        #expect(first.sharing == .group && first.takesOver)
        #expect(first.settings == DurableSettingChanges(deadlineMicroseconds: 1_000_000))
        try harness.reconnect()
        let second = try harness.acceptSubscriptions(isResumed: true)[0]
        #expect(second.sharing == .group && !second.takesOver)
    }

    // MARK: Extending deadlines

    private func working(window: Int? = nil) -> NotificationClient.SubscriptionKind {
        var kind = NotificationClient.SubscriptionKind.durable("d", window: window, sharing: .group)
        guard case .durable(var durable) = kind.storage else { return kind }
        durable.extendsDeadlines = true
        kind.storage = .durable(durable)
        return kind
    }

    private func describe(_ harness: MachineHarness, _ describe: Describe, deadline: UInt64) {
        harness.receive { buffer in
            DurableDescription(
                DurableEntry(request: describe.request, uid: 1, durableName: "d", patterns: ["a.>"]),
                settings: .init(deadlineMicroseconds: deadline, retryDelays: [1])
            ).write(to: &buffer)
        }
    }

    private func start(_ subscription: MachineHarness.Subscribed, _ sequences: [UInt64]) {
        for sequence in sequences {
            #expect(subscription.ledger?.handlerStarts(sequence, delivery: 1, epoch: 0) == .starts)
        }
    }

    @Test func `a deadline is extended once two thirds of it have passed`() async throws {
        let harness = try MachineHarness.ready()
        let one = try attached(harness, working())
        let asked = try harness.read()
        #expect(asked.map(\.kind) == [.describe])
        describe(harness, try asked[0].read(), deadline: 30_000_000)
        harness.receive { $0.writeRun(one.number, [1, 2, 3, 5]) }
        start(one, [1, 2, 3])
        try harness.acknowledge(one, 2)
        _ = try harness.read()
        harness.advance(by: .seconds(10))
        harness.receive { $0.writeRun(one.number, [6]) }
        start(one, [6])
        harness.advance(by: .seconds(9))
        #expect(try harness.read().isEmpty)
        harness.advance(by: .seconds(1))
        let extend = Extend(subscription: one.number, sequences: [1, 3])
        let frames = try harness.read()
        #expect(frames.map(\.kind) == [.reject, .extend, .credit])
        let given = Reject(subscription: one.number, sequence: 5, outcome: .returned, delivery: 1)
        #expect(try frames[0].read(Reject.self) == given, "no handler has 5")
        #expect(try frames[1].read(Extend.self) == extend)
        try harness.acknowledge(one, 1)
        _ = try harness.read()
        harness.advance(by: .seconds(10))
        #expect(try harness.read().map { try $0.read(Extend.self).sequences } == [[3, 6]])
        try harness.acknowledge(one, 3, 6)
        _ = try harness.read()
        harness.advance(by: .seconds(10))
        #expect(try harness.read().isEmpty)
    }

    @Test func `after a reconnect, the deadline is requested again, and extended early while unknown`() throws {
        let harness = try MachineHarness.ready()
        let one = try attached(harness, working())
        describe(harness, try harness.read()[0].read(), deadline: 0)
        harness.receive { $0.writeRun(one.number, [1]) }
        start(one, [1])
        harness.advance(by: .seconds(100))
        #expect(try harness.read().isEmpty, "there is no deadline")
        try harness.reconnect()
        _ = try harness.acceptSubscriptions(isResumed: true)
        let asked = try harness.read()
        #expect(asked.map(\.kind) == [.describe])
        harness.receive { $0.writeRun(one.number, [1], isRedelivery: true) }
        harness.advance(by: .milliseconds(33))
        #expect(try harness.read().isEmpty)
        harness.advance(by: .milliseconds(33))
        #expect(try harness.read().map(\.kind) == [.extend])
        let request = try asked[0].read(Describe.self).request
        harness.receive { ErrorFrame(request: request, code: .limitReached, message: "").write(to: &$0) }
        harness.advance(by: .milliseconds(999))
        #expect(try harness.read().isEmpty)
        harness.advance(by: .milliseconds(1))
        #expect(try harness.read().map(\.kind) == [.extend])
        _ = harness.leave(one)
        #expect(try harness.read().map(\.kind) == [.detach])
        harness.advance(by: .seconds(1))
        #expect(try harness.read().isEmpty)
    }

    // MARK: Credit of handlers

    @Test func `after a reconnect, there is credit for free handlers and for messages of busy ones`() throws {
        let harness = try MachineHarness.ready()
        let one = try harness.subscribe(["a.>"], working(window: 3))
        #expect(try harness.acceptSubscriptions().map(\.credit) == [3])
        harness.receive { $0.writeRun(one.number, [1, 2, 3]) }
        start(one, [1, 2])
        try harness.reconnect()
        let again = try harness.acceptSubscriptions(isResumed: true)
        #expect(again.map(\.credit) == [3], "3 waited for a handler: the daemon has taken it back")
        harness.receive { $0.writeRun(one.number, [1, 2, 3], isRedelivery: true, delivery: 2) }
        #expect(one.ledger?.handlerStarts(3, delivery: 1, epoch: 0) == .skipped)
        #expect(one.ledger?.handlerStarts(3, delivery: 2, epoch: 0) == .starts)
        #expect(try harness.read().map(\.kind) == [.describe], "all handlers are taken")
        try harness.acknowledge(one, 1)
        one.ledger?.handlerEnded()
        #expect(try flush(harness, one).map(\.kind) == [.acknowledge, .credit])
    }

    @Test func `answers are sent even if a redelivery has replaced a delivery that waits for a handler`() throws {
        let harness = try MachineHarness.ready()
        let one = try attached(harness, working(window: 4))
        _ = try harness.read()
        harness.receive { $0.writeRun(one.number, [1]) }
        start(one, [1])
        harness.receive { buffer in
            buffer.writeRun(one.number, [1], isRedelivery: true, delivery: 2)
            buffer.writeRun(one.number, [1], isRedelivery: true, delivery: 3)
        }
        #expect(try harness.read().map(\.kind) == [.credit])
        try harness.acknowledge(one, 1)
        #expect(try harness.read().map(\.kind).first == .acknowledge)
    }

    @Test func `a message without a handler is given back before its deadline, without new credit`() throws {
        let harness = try MachineHarness.ready()
        let one = try attached(harness, working(window: 1))
        _ = try harness.read()
        harness.receive { $0.writeRun(one.number, [1]) }
        start(one, [1])
        try harness.reconnect()
        #expect(try harness.acceptSubscriptions(isResumed: true).map(\.credit) == [1])
        describe(harness, try harness.read()[0].read(), deadline: 30_000_000)
        // This message was delivered to another member before.
        harness.receive { $0.writeRun(one.number, [2], isRedelivery: true, delivery: 2) }
        harness.advance(by: .seconds(10))
        #expect(try harness.read().isEmpty)
        harness.advance(by: .seconds(10))
        let given = Reject(subscription: one.number, sequence: 2, outcome: .returned, delivery: 2)
        #expect(try harness.read().map { try $0.read(Reject.self) } == [given])
        #expect(one.ledger?.handlerStarts(2, delivery: 2, epoch: 0) == .skipped)
        try harness.acknowledge(one, 1)
        one.ledger?.handlerEnded()
        #expect(try flush(harness, one).map(\.kind) == [.credit], "the handler is free")
        harness.receive { $0.writeRun(one.number, [1], isRedelivery: true, delivery: 2) }
        #expect(try harness.read().map(\.kind) == [.credit, .acknowledge])
    }
}
