import NotifyWire
import Testing

@testable import NotifyClient

/// The message that an exclusive subscription fetches before a handler is free.
@Suite(.timeLimit(.minutes(10))) struct FetchingAheadTests {
    private static let parallel = 2

    /// A subscription with handlers, attached to a daemon that was asked for the settings.
    private struct Work {
        let harness: MachineHarness
        let subscription: MachineHarness.Subscribed
        let subscribe: Subscribe
        private var describe: Describe

        init(_ sharing: NotifyClient.DurableSharing = .exclusive) throws {
            harness = try MachineHarness.ready()
            var kind = NotifyClient.SubscriptionKind.durable("d", sharing: sharing)
            if case .durable(var durable) = kind.storage {
                (durable.window, durable.extendsDeadlines) = (FetchingAheadTests.parallel, true)
                kind.storage = .durable(durable)
            }
            subscription = try harness.subscribe(["a.>"], kind)
            subscribe = try harness.acceptSubscriptions()[0]
            describe = try harness.read()[0].read()
        }

        mutating func reconnect() throws -> Subscribe {
            try harness.reconnect()
            let frame = try harness.acceptSubscriptions(isResumed: true)[0]
            describe = try harness.read()[0].read()
            return frame
        }

        func report(_ settings: NotifyWire.DurableSettings) {
            harness.receive { [describe] in
                DurableDescription(
                    DurableEntry(request: describe.request, uid: 1, durableName: "d", patterns: ["a.>"]),
                    settings: settings
                ).write(to: &$0)
            }
        }

        func deliver(_ sequences: UInt64...) {
            harness.receive { $0.writeRun(subscription.number, sequences) }
        }

        func start(_ sequence: UInt64) {
            #expect(subscription.ledger?.handlerStarts(sequence, delivery: 1, epoch: 0) == .starts)
        }

        func end(_ sequence: UInt64) throws {
            try harness.acknowledge(subscription, sequence)
            _ = subscription.ledger?.update { $0.handlerEnded() }
        }

        func credits() throws -> [UInt32] {
            try harness.read().filter { $0.kind == .credit }.map { try $0.read(Credit.self).messages }
        }

        func kinds() throws -> [FrameKind] { try harness.read().map(\.kind) }
    }

    private static let plain = NotifyWire.DurableSettings(defaultsFor: .exclusive)

    private static func changed(_ change: (inout NotifyWire.DurableSettings) -> Void) -> NotifyWire.DurableSettings {
        var settings = plain
        change(&settings)
        return settings
    }

    @Test func `an exclusive subscription fetches one message ahead once its settings are known`() throws {
        let work = try Work()
        #expect(work.subscribe.window == 3 && work.subscribe.credit == 2)
        work.report(Self.plain)
        #expect(try work.credits() == [1])
        work.deliver(1, 2, 3)
        work.start(1)
        work.start(2)
        #expect(try work.credits().isEmpty, "a further message waits for the end of a handler")
        try work.end(1)
        #expect(try work.credits() == [1])
        work.start(3)
        try work.end(2)
        try work.end(3)
        #expect(try work.credits() == [2])
    }

    @Test func `a group never fetches ahead`() throws {
        let work = try Work(.group)
        #expect(work.subscribe.window == 2 && work.subscribe.credit == 2)
        work.report(Self.changed { $0.sharing = .group })
        #expect(try work.credits().isEmpty)
        work.deliver(1, 2)
        work.start(1)
        work.start(2)
        try work.end(1)
        #expect(try work.credits() == [1])
    }

    @Test(
        arguments: [
            changed { $0.deadlineMicroseconds = 1_000_000 }, changed { $0.maximumDeliveries = 5 },
            changed { $0.sharing = .group },
        ])
    func `nothing is fetched ahead if that could count as a failure or be delivered elsewhere`(
        _ settings: NotifyWire.DurableSettings
    ) throws {
        let work = try Work()
        work.report(settings)
        #expect(try work.credits().isEmpty)
    }

    @Test func `a changed deadline or maximum of deliveries ends fetching ahead`() throws {
        let work = try Work()
        work.report(Self.plain)
        work.deliver(1, 2, 3)
        work.start(1)
        work.start(2)
        _ = try work.credits()
        work.harness.receive { DeadlineNotice(subscription: work.subscription.number, microseconds: 0).write(to: &$0) }
        try work.end(1)
        #expect(try work.credits().isEmpty, "3 takes the place of 1")
        work.start(3)
        try work.end(2)
        #expect(try work.credits() == [1])
    }

    @Test func `nothing is fetched ahead after a reconnect until the settings are known again`() throws {
        var work = try Work()
        work.report(Self.plain)
        _ = try work.credits()
        let frame = try work.reconnect()
        #expect(frame.window == 3 && frame.credit == 2)
        work.report(Self.plain)
        #expect(try work.credits() == [1])
    }

    @Test func `the end gives back messages that were fetched ahead, in order, by the detach alone`() throws {
        let work = try Work()
        work.report(Self.plain)
        work.deliver(1, 2, 3)
        work.start(1)
        work.start(2)
        work.subscription.ledger?.stopHandlers()
        try work.end(1)
        work.deliver(4)
        #expect(try work.kinds() == [.credit, .acknowledge])
        #expect(work.subscription.ledger?.handlerStarts(3, delivery: 1, epoch: 0) == .stopped)
        try work.end(2)
        _ = work.harness.leave(work.subscription)
        #expect(try work.kinds() == [.acknowledge, .detach])
    }
}
