import NotifyWire
import Testing

@testable import NotifyClient

/// Messages that an exclusive subscription fetches before a handler is free.
@Suite(.timeLimit(.minutes(25))) struct FetchingAheadTests {
    private static let parallel = 2
    private static let window = UInt32(parallel + SubscriptionSpec.fetchedAhead)

    /// A subscription with handlers. It is attached, and its client has requested its settings from the daemon.
    private struct Work {
        let harness: MachineHarness
        let subscription: MachineHarness.Subscribed
        let subscribe: Subscribe
        private var describe: Describe

        init(_ sharing: NotificationClient.DurableSharing = .exclusive) throws {
            harness = try MachineHarness.ready()
            var kind = NotificationClient.SubscriptionKind.durable("d", sharing: sharing)
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

        func deliver(_ sequences: UInt64...) { deliver(sequences) }

        func deliver(_ sequences: [UInt64]) {
            harness.receive { $0.writeRun(subscription.number, sequences) }
        }

        func start(_ sequence: UInt64) {
            #expect(subscription.ledger?.handlerStarts(sequence, delivery: 1, epoch: 0) == .starts)
        }

        /// Reports settings that permit fetching ahead, and lets handlers start for two of three messages.
        func startTwoOfThree() {
            report(FetchingAheadTests.plain)
            deliver(1, 2, 3)
            start(1)
            start(2)
        }

        func end(_ sequence: UInt64) throws {
            try harness.acknowledge(subscription, sequence)
            _ = subscription.ledger?.update { $0.handlerEnded() }
        }

        func stop() throws {
            let ledger = try #require(subscription.ledger)
            guard ledger.update({ $0.stopHandlers() }) else { return }
            harness.process { machine, _ in machine.acknowledgementsPending(ledger) }
        }

        func changeDeadline(toMicroseconds deadline: UInt64) {
            harness.receive {
                DeadlineNotice(subscription: subscription.number, microseconds: deadline).write(to: &$0)
            }
        }

        /// Leaves the subscription, and confirms the detach as the daemon.
        ///
        /// - Returns: The kinds of the frames that were written, and the answer to the caller.
        func leave() async throws -> (kinds: [FrameKind], error: NotifyError.Code?) {
            let slot = harness.leave(subscription)
            let frames = try harness.read()
            let detach: Detach = try #require(frames.last).read()
            harness.receive {
                Detached(request: detach.request, subscription: detach.subscription).write(to: &$0)
            }
            return (frames.map(\.kind), await slot.code())
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

    @Test func `an exclusive subscription fetches messages ahead once its settings are known`() throws {
        let work = try Work()
        #expect(work.subscribe.window == Self.window && work.subscribe.credit == 2)
        work.report(Self.plain)
        #expect(try work.credits() == [8])
        work.deliver(Array(1...10))
        work.start(1)
        work.start(2)
        for ended in UInt64(1)...3 {
            try work.end(ended)
            work.start(ended + 2)
            #expect(try work.credits().isEmpty, "no credit while more than half of the messages fetched ahead wait")
        }
        try work.end(4)
        #expect(try work.credits() == [4])
        work.start(6)
    }

    @Test func `every message of a subscription that fetches ahead reaches a handler`() throws {
        let work = try Work()
        work.report(Self.plain)
        var (credit, delivered) = (try work.credits().reduce(2, +), UInt64(0))
        for sequence in UInt64(1)...100 {
            if delivered < sequence {
                #expect(credit > 0)
                work.deliver(Array(delivered + 1...delivered + UInt64(credit)))
                (delivered, credit) = (delivered + UInt64(credit), 0)
            }
            work.start(sequence)
            try work.end(sequence)
            credit += try work.credits().reduce(0, +)
        }
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
    func `no message is fetched ahead if it could fail while it waits, or go to another client`(
        _ settings: NotifyWire.DurableSettings
    ) throws {
        let work = try Work()
        work.report(settings)
        #expect(try work.credits().isEmpty)
    }

    /// The daemon also sends this notice if only the maximum of deliveries has changed.
    @Test func `a notice of the deadline ends fetching ahead, even if there is no deadline`() throws {
        let work = try Work()
        work.report(Self.plain)
        work.deliver(Array(1...10))
        work.start(1)
        work.start(2)
        _ = try work.credits()
        work.changeDeadline(toMicroseconds: 0)
        for ended in UInt64(1)...8 {
            try work.end(ended)
            #expect(try work.credits().isEmpty, "a waiting message takes the place of the ended one")
            work.start(ended + 2)
        }
        try work.end(9)
        #expect(try work.credits() == [1])
    }

    @Test func `nothing is fetched ahead after a reconnect until the settings are known again`() throws {
        var work = try Work()
        work.report(Self.plain)
        _ = try work.credits()
        let frame = try work.reconnect()
        #expect(frame.window == Self.window && frame.credit == 2)
        work.report(Self.plain)
        #expect(try work.credits() == [8])
    }

    @Test func `when handlers stop, messages that were fetched ahead are given back by the detach alone`() throws {
        let work = try Work()
        work.startTwoOfThree()
        work.subscription.ledger?.stopHandlers()
        try work.end(1)
        work.deliver(4)
        #expect(try work.kinds() == [.credit, .acknowledge])
        #expect(work.subscription.ledger?.handlerStarts(3, delivery: 1, epoch: 0) == .stopped)
        try work.end(2)
        _ = work.harness.leave(work.subscription)
        #expect(try work.kinds() == [.acknowledge, .detach])
    }

    @Test func `a stop after a changed deadline gives back the message that was fetched ahead`() async throws {
        let work = try Work()
        work.startTwoOfThree()
        _ = try work.harness.read()
        work.changeDeadline(toMicroseconds: 1_000_000)
        try work.stop()
        work.deliver(4)
        let rejections = try work.harness.read().map { try $0.read(Reject.self) }
        #expect(rejections.map(\.sequence).sorted() == [3, 4])
        #expect(rejections.allSatisfy { $0.outcome == .returned && $0.delayMicroseconds == 0 })
        try work.end(1)
        try work.end(2)
        let end = try await work.leave()
        #expect(end.kinds == [.acknowledge, .detach] && end.error == nil)
    }

    @Test func `a deadline that is set after a stop is extended for a message that was fetched ahead`() async throws {
        let work = try Work()
        work.startTwoOfThree()
        try work.stop()
        _ = try work.harness.read()
        work.changeDeadline(toMicroseconds: 900_000)
        work.deliver(4)
        #expect(
            try work.harness.read().map { try $0.read(Reject.self).sequence } == [4],
            "a message delivered after the deadline was set is given back immediately, one from before is extended")
        try work.end(1)
        #expect(try work.kinds() == [.acknowledge])
        work.harness.advance(by: .milliseconds(300))
        work.harness.advance(by: .milliseconds(300))
        #expect(try work.harness.read().map { try $0.read(Extend.self).sequences } == [[2, 3]])
        try work.end(2)
        let end = try await work.leave()
        #expect(end.kinds == [.acknowledge, .detach] && end.error == nil, "the detach gives back 3")
    }

    @Test(arguments: [plain, changed { $0.deadlineMicroseconds = 1_000_000 }])
    func `a stop after a reconnect rejects a waiting message only if there is a deadline now`(
        _ settings: NotifyWire.DurableSettings
    ) async throws {
        var work = try Work()
        work.startTwoOfThree()
        #expect(try work.reconnect().credit == 2)
        work.deliver(1, 2)
        work.report(settings)
        try work.end(1)
        // The credit is for messages to fetch ahead, or for the free handler.
        #expect(try work.credits() == (settings == Self.plain ? [8] : [1]))
        work.deliver(3)
        try work.stop()
        let rejections = try work.harness.read().map { try $0.read(Reject.self).sequence }
        #expect(rejections == (settings == Self.plain ? [] : [3]))
        try work.end(2)
        let end = try await work.leave()
        #expect(end.kinds == [.acknowledge, .detach] && end.error == nil)
    }

    @Test func `after a stop and a reconnect, the detach gives back messages that were fetched ahead`() async throws {
        var work = try Work()
        work.startTwoOfThree()
        try work.stop()
        #expect(try work.reconnect().credit == 3)
        work.deliver(1, 2, 3)
        work.report(Self.changed { $0.deadlineMicroseconds = 900_000 })
        #expect(try work.kinds().isEmpty)
        work.harness.advance(by: .milliseconds(300))
        work.harness.advance(by: .milliseconds(300))
        #expect(try work.harness.read().map { try $0.read(Extend.self).sequences } == [[1, 2, 3]])
        try work.end(1)
        try work.end(2)
        let end = try await work.leave()
        #expect(end.kinds == [.acknowledge, .detach] && end.error == nil)
    }

    @Test func `after a stop and a reconnect, there is credit for the messages whose handlers run`() async throws {
        var work = try Work()
        work.report(Self.plain)
        work.deliver(1, 2)
        work.start(1)
        work.start(2)
        try work.stop()
        try work.end(1)
        #expect(try work.reconnect().credit == 1)
        // The acknowledgement of 1 was lost with the connection, so the daemon delivers 1 again.
        work.deliver(1)
        let frames = try work.harness.read()
        #expect(Set(frames.map(\.kind)) == [.acknowledge, .credit] && frames.count == 2)
        work.deliver(2)
        #expect(try work.kinds().isEmpty)
        try work.end(2)
        let end = try await work.leave()
        #expect(end.kinds == [.acknowledge, .detach] && end.error == nil)
    }
}
