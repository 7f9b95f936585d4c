import NIOCore
import NotifyWire
import Testing

@testable import NotifyClient

@Suite(.timeLimit(.minutes(10))) struct ClientMachineSnapshotTests {
    enum Kind: CaseIterable {
        case volatile, durable

        var kind: NotificationClient.SubscriptionKind { self == .volatile ? .volatile() : .durable("d") }
    }

    /// Returns a number for each event that a consumer receives: the sequence of a live message, the negated sequence
    /// of a message of a snapshot, and 0 for a gap.
    private func taken(_ subscription: MachineHarness.Subscribed) async throws -> [Int] {
        subscription.buffer.put(.end(nil))
        var seen: [Int] = []
        while true {
            let taken = try await subscription.buffer.next()
            if taken.isEmpty { return seen }
            seen += taken.gaps.map { _ in 0 }
            for index in taken.range {
                let sequence = Int(taken.batch?.sequence(index) ?? 0)
                seen.append(taken.batch?.entries[index].isSnapshot == true ? -sequence : sequence)
            }
        }
    }

    private func subscribed(
        _ harness: MachineHarness, _ kind: NotificationClient.SubscriptionKind, after sequence: UInt64 = 10
    ) throws -> MachineHarness.Subscribed {
        let subscription = try harness.subscribe([">"], kind)
        _ = try harness.acceptSubscriptions(after: sequence, hasSnapshot: true)
        return subscription
    }

    private func writeLive(_ sequence: UInt64, _ kind: Kind, _ number: UInt32, to buffer: inout ByteBuffer) {
        switch kind {
        case .volatile: buffer.writeDelivery(sequence)
        case .durable: buffer.writeRun(number, [sequence])
        }
    }

    @Test(arguments: Kind.allCases)
    func `a snapshot comes first and is marked, then live messages in order`(kind: Kind) async throws {
        let harness = try MachineHarness.ready()
        let one = try subscribed(harness, kind.kind)
        harness.receive { buffer in
            writeLive(11, kind, one.number, to: &buffer)
            buffer.writeSnapshot(one.number, [3, 7])
            writeLive(12, kind, one.number, to: &buffer)
            buffer.writeSnapshot(one.number, [9], isLast: true)
            writeLive(13, kind, one.number, to: &buffer)
        }
        harness.receive { writeLive(14, kind, one.number, to: &$0) }
        #expect(try await taken(one) == [-3, -7, -9, 11, 12, 13, 14])
    }

    @Test(arguments: Kind.allCases)
    func `reads may end between any two frames`(kind: Kind) async throws {
        let harness = try MachineHarness.ready()
        let one = try subscribed(harness, kind.kind)
        harness.receive { writeLive(11, kind, one.number, to: &$0) }
        harness.receive { Snapshot(subscription: one.number, count: 2, isLast: true).write(to: &$0) }
        harness.receive { $0.writeDelivery(3) }
        harness.receive { buffer in
            buffer.writeDelivery(7)
            writeLive(12, kind, one.number, to: &buffer)
        }
        #expect(try await taken(one) == [-3, -7, 11, 12])
    }

    @Test(arguments: Kind.allCases)
    func `an empty snapshot ends the wait`(kind: Kind) async throws {
        let harness = try MachineHarness.ready()
        let one = try subscribed(harness, kind.kind)
        harness.receive { buffer in
            writeLive(11, kind, one.number, to: &buffer)
            buffer.writeSnapshot(one.number, [], isLast: true)
        }
        #expect(try await taken(one) == [11])
    }

    @Test(arguments: Kind.allCases)
    func `live messages wait for the end of the snapshot`(kind: Kind) async throws {
        let harness = try MachineHarness.ready()
        let one = try subscribed(harness, kind.kind)
        harness.receive { buffer in
            buffer.writeSnapshot(one.number, [3])
            writeLive(11, kind, one.number, to: &buffer)
        }
        #expect(try await taken(one) == [-3])
    }

    @Test func `other subscriptions do not wait for the snapshot`() async throws {
        let harness = try MachineHarness.ready()
        let other = try harness.subscribed([">"])
        let one = try subscribed(harness, .volatile())
        harness.receive { buffer in
            buffer.writeSnapshot(one.number, [3])
            buffer.writeDelivery(11)
        }
        #expect(try await taken(other) == [11])
    }

    @Test func `messages of a snapshot are never acknowledged`() async throws {
        let harness = try MachineHarness.ready()
        let one = try subscribed(harness, .durable("d"))
        harness.receive { buffer in
            buffer.writeSnapshot(one.number, [3], isLast: true)
            buffer.writeRun(one.number, [11])
        }
        for _ in 0..<2 {
            let taken = try await one.buffer.next()
            NotificationClient.Message(batch: try #require(taken.batch), index: 0).acknowledge()
        }
        harness.process { machine, _ in machine.acknowledgementsPending(one.ledger.unsafelyUnwrapped) }
        let frames = try harness.read().map { try $0.read(Acknowledge.self) }
        #expect(frames.flatMap(\.ranges) == [.init(first: 11, last: 11)])
    }

    // MARK: Lost connections

    @Test(arguments: Kind.allCases)
    func `an interrupted snapshot starts again, and live messages still follow it`(kind: Kind) async throws {
        let harness = try MachineHarness.ready()
        let one = try subscribed(harness, kind.kind)
        harness.receive { buffer in
            Snapshot(subscription: one.number, count: 3, isLast: true).write(to: &buffer)
            buffer.writeDelivery(3)
        }
        try harness.reconnect()
        _ = try harness.acceptSubscriptions(after: 12, isResumed: true, hasSnapshot: true)
        harness.receive { buffer in
            writeLive(13, kind, one.number, to: &buffer)
            buffer.writeSnapshot(one.number, [3, 7, 9], isLast: true)
        }
        let gap = kind == .volatile ? [0] : []
        #expect(try await taken(one) == [-3, -3, -7, -9] + gap + [13])
    }

    @Test func `a snapshot that the daemon does not repeat releases the live messages`() async throws {
        let harness = try MachineHarness.ready()
        let one = try subscribed(harness, .volatile())
        harness.receive { buffer in
            buffer.writeSnapshot(one.number, [3])
            buffer.writeDelivery(11)
        }
        try harness.reconnect()
        _ = try harness.acceptSubscriptions(after: 12)
        harness.receive { $0.writeDelivery(13) }
        #expect(try await taken(one) == [-3, 11, 0, 13])
    }

    // MARK: Bounds

    @Test func `beyond the limits the oldest live messages are dropped with a gap`() async throws {
        let harness = try MachineHarness.ready()
        let one = try subscribed(harness, .volatile(bufferedMessages: 3))
        harness.receive { buffer in
            for sequence: UInt64 in 11...15 { buffer.writeDelivery(sequence) }
            buffer.writeSnapshot(one.number, [], isLast: true)
        }
        let taken = try await one.buffer.next()
        #expect(taken.gaps == [.init(reason: .consumerTooSlow, missed: 2, sequences: 11...12)])
        #expect(taken.sequences == [13, 14, 15])
        #expect(one.buffer.droppedCount == 2)
    }

    @Test func `a subscription that pauses reading still receives the end of its snapshot`() async throws {
        let harness = try MachineHarness.ready()
        let one = try subscribed(harness, .volatile(bufferedMessages: 3, whenFull: .pauseReading))
        harness.receive { buffer in
            for sequence: UInt64 in 11...15 { buffer.writeDelivery(sequence) }
        }
        #expect(harness.readsConnection)
        harness.receive { $0.writeSnapshot(one.number, [], isLast: true) }
        #expect(!harness.readsConnection)
    }

    @Test func `a large snapshot pauses reading until the buffer is half empty`() async throws {
        let harness = try MachineHarness.ready()
        let one = try subscribed(harness, .durable("d"))
        let bound = UInt64(DeliveryBuffer.Bounds.standard.messages)
        harness.receive { $0.writeSnapshot(one.number, Array(1...bound - 1)) }
        #expect(harness.readsConnection)
        harness.receive { $0.writeSnapshot(one.number, [bound]) }
        #expect(!harness.readsConnection)
        _ = try await one.buffer.next()
        harness.reportChangedBuffers()
        #expect(harness.readsConnection)
    }

    // MARK: Hostile headers

    @Test func `a snapshot of an unknown subscription is discarded`() async throws {
        let harness = try MachineHarness.ready()
        let one = try harness.subscribed([">"])
        harness.receive { buffer in
            buffer.writeSnapshot(99, [3, 4])
            buffer.writeDelivery(5)
        }
        #expect(try await taken(one) == [5])
        #expect(harness.channel == .connect)
    }

    @Test func `a snapshot of an ended subscription is discarded`() async throws {
        let harness = try MachineHarness.ready()
        let other = try harness.subscribed([">"])
        let one = try subscribed(harness, .volatile())
        harness.receive { buffer in
            Snapshot(subscription: one.number, count: 2, isLast: true).write(to: &buffer)
            buffer.writeDelivery(3)
        }
        _ = harness.leave(one)
        harness.receive { buffer in
            buffer.writeDelivery(4)
            buffer.writeDelivery(11)
        }
        #expect(try await taken(one) == [-3])
        #expect(try await taken(other) == [11])
    }

    @Test func `a header within an announced run or snapshot replaces it`() async throws {
        let harness = try MachineHarness.ready()
        let durable = try harness.subscribed([">"], .durable("d"))
        let one = try subscribed(harness, .volatile())
        harness.receive { buffer in
            Run(subscription: durable.number, count: 5, isRedelivery: false).write(to: &buffer)
            buffer.writeDelivery(11)
            Snapshot(subscription: one.number, count: .max, isLast: true).write(to: &buffer)
            buffer.writeDelivery(3)
            buffer.writeSnapshot(one.number, [4], isLast: true)
            buffer.writeDelivery(12)
        }
        #expect(try await taken(durable) == [11])
        #expect(try await taken(one) == [-3, -4, 12])
    }

    @Test func `an unannounced snapshot is delivered and marked`() async throws {
        let harness = try MachineHarness.ready()
        let one = try harness.subscribed([">"], after: 10)
        harness.receive { buffer in
            buffer.writeDelivery(11)
            buffer.writeSnapshot(one.number, [3])
            buffer.writeDelivery(12)
        }
        #expect(try await taken(one) == [11, -3, 12])
    }
}
