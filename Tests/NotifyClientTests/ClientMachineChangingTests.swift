import FoundationEssentials
import NIOCore
import NotifyWire
import Testing

@testable import NotifyClient

/// Durable subscriptions that are reset or edited.
@Suite(.timeLimit(.minutes(25))) struct ClientMachineChangingTests {
    private let durable = NotificationClient.SubscriptionKind.durable("d", from: .oldest)

    private func change(_ harness: MachineHarness, _ number: UInt32, request: UInt64 = 0, isEdited: Bool = false) {
        harness.receive { buffer in
            ErrorFrame(
                request: request, code: .subscriptionChanged, subscription: number,
                detail: isEdited ? ErrorFrame.editedDetail : 0, message: "changed"
            ).write(to: &buffer)
        }
    }

    private func acknowledged(_ harness: MachineHarness) throws -> [SequenceRange] {
        try harness.read().filter { $0.kind == .acknowledge }.flatMap { try $0.read(Acknowledge.self).ranges }
    }

    @Test func `a reset subscription attaches again and forgets its state`() async throws {
        let harness = try MachineHarness.ready()
        let one = try harness.subscribe([">"], durable)
        _ = try harness.acceptSubscriptions(generation: 7)
        harness.receive { $0.writeRun(one.number, [1, 2, 3]) }
        let earlier = try #require(try await one.buffer.next().batch)
        try harness.acknowledge(one, 1)
        #expect(try acknowledged(harness) == [.init(first: 1, last: 1)])
        change(harness, one.number)
        // Acknowledgements of the earlier attachment are not sent any more.
        earlier.acknowledge(1)
        let frames = try harness.acceptSubscriptions(generation: 8, isResumed: true)
        #expect(frames.map(\.patterns) == [[">"]] && frames.map(\.subscription) == [one.number])
        #expect(frames.map(\.creation) == [.never])
        earlier.acknowledge(2)
        #expect(try acknowledged(harness).isEmpty)
        harness.receive { $0.writeRun(one.number, [1, 2, 3], isRedelivery: true) }
        let seen = try await one.drain()
        #expect(seen.sequences == [1, 2, 3] && seen.gaps.map(\.reason) == [.recreated])
        try harness.acknowledge(one, 1, 2, 3)
        #expect(try acknowledged(harness) == [.init(first: 1, last: 3)])
        #expect(harness.warnings.isEmpty)
    }

    @Test func `an edited subscription continues without a gap or a repeat`() async throws {
        let harness = try MachineHarness.ready()
        let one = try harness.subscribe(["a", "b"], durable, object: "o")
        _ = try harness.acceptSubscriptions(generation: 7)
        harness.receive { $0.writeRun(one.number, [1, 2, 3]) }
        #expect(try await one.drain().sequences == [1, 2, 3])
        try harness.acknowledge(one, 1)
        _ = try harness.read()
        change(harness, one.number, isEdited: true)
        let frames = try harness.acceptSubscriptions(generation: 7, isResumed: true)
        #expect(frames.map(\.patterns) == [[]] && frames.map(\.object) == [""] && frames.map(\.durableName) == ["d"])
        harness.receive { $0.writeRun(one.number, [1, 3, 4], isRedelivery: true) }
        #expect(try acknowledged(harness) == [.init(first: 1, last: 1)])
        let seen = try await one.drain()
        #expect(seen.sequences == [4] && seen.gaps.isEmpty)
        // From then on, the patterns of the program are outdated.
        try harness.reconnect()
        #expect(try harness.acceptSubscriptions(generation: 7, isResumed: true).map(\.patterns) == [[]])
    }

    @Test func `an attachment that is refused by a change is requested again`() async throws {
        let harness = try MachineHarness.ready()
        let one = try harness.subscribe([">"], durable)
        let request = try #require(try harness.read().first).read(Subscribe.self).request
        change(harness, one.number, request: request)
        let frames = try harness.acceptSubscriptions(isResumed: true)
        #expect(frames.count == 1)
        _ = try await one.openWaiter.wait()
    }

    @Test func `a changed subscription that was removed is not created again, even after a reconnect`()
        async throws
    {
        let harness = try MachineHarness.ready()
        let one = try harness.subscribe([">"], durable)
        #expect(try harness.acceptSubscriptions().map(\.creation) == [.ifMissing])
        change(harness, one.number)
        #expect(try harness.read().map { try $0.read(Subscribe.self).creation } == [.never])
        try harness.reconnect()
        let requested = try #require(try harness.read().first).read(Subscribe.self)
        #expect(requested.creation == .never)
        harness.receive { buffer in
            ErrorFrame(request: requested.request, code: .unknownSubscription, message: "removed").write(to: &buffer)
        }
        let ended = await #expect(throws: NotifyError.self) { try await one.buffer.next() }
        #expect(ended?.code == .unknownSubscription)
    }

    @Test func `a changed subscription is created again if it is removed after the next attachment`() throws {
        let harness = try MachineHarness.ready()
        let one = try harness.subscribe([">"], durable)
        _ = try harness.acceptSubscriptions()
        change(harness, one.number)
        _ = try harness.acceptSubscriptions(generation: 2, isResumed: true)
        try harness.reconnect()
        #expect(try harness.acceptSubscriptions(generation: 3).map(\.creation) == [.ifMissing])
    }

    @Test func `a change is ignored during a detach, and for an unknown subscription`() async throws {
        let harness = try MachineHarness.ready()
        let one = try harness.subscribed([">"], durable)
        let left = harness.leave(one)
        let request = try #require(try harness.read().last).read(Detach.self).request
        change(harness, one.number)
        change(harness, 99)
        #expect(try harness.read().isEmpty)
        harness.receive { buffer in
            ErrorFrame(request: request, code: .unknownSubscription, message: "unknown").write(to: &buffer)
        }
        try await left.wait()
    }

    @Test func `a changed subscription ends if another client holds it by then`() async throws {
        let harness = try MachineHarness.ready()
        let one = try harness.subscribed([">"], durable)
        change(harness, one.number)
        let request = try #require(try harness.read().first).read(Subscribe.self).request
        harness.receive { buffer in
            ErrorFrame(request: request, code: .subscriptionHeld, message: "held").write(to: &buffer)
        }
        await #expect(throws: NotifyError.self) { try await one.buffer.next() }
    }

    @Test func `the limit of messages spans a change`() async throws {
        let harness = try MachineHarness.ready()
        let one = try harness.subscribe([">"], durable, limit: 5)
        _ = try harness.acceptSubscriptions(generation: 7)
        harness.receive { $0.writeRun(one.number, [1, 2]) }
        change(harness, one.number)
        let frames = try harness.acceptSubscriptions(generation: 8, isResumed: true)
        #expect(frames.map(\.credit) == [3])
    }

    @Test func `an acknowledgement that crosses with the end of a subscription is no warning`() throws {
        let harness = try MachineHarness.ready()
        harness.receive { ErrorFrame(code: .unknownSubscription, message: "unknown").write(to: &$0) }
        #expect(harness.warnings.isEmpty)
        harness.receive { ErrorFrame(code: .notDelivered, message: "not delivered").write(to: &$0) }
        #expect(harness.warnings.count == 1)
    }

    // MARK: Calls

    @Test func `describe, reset and edit are answered with a description`() async throws {
        let harness = try MachineHarness.ready()
        let slots = [
            harness.call(Describe(durableName: "d")), harness.call(Reset(uid: 5, durableName: "d", to: .sequence(7))),
            harness.call(Edit(uid: 0, durableName: "d", patterns: ["a", "b"])),
        ]
        let frames = try harness.read()
        let describe = try frames[0].read(Describe.self)
        #expect(describe.durableName == "d" && describe.uid == Remove.ownUID)
        let reset = try frames[1].read(Reset.self)
        #expect(reset.position == .sequence(7) && reset.uid == 5)
        let edit = try frames[2].read(Edit.self)
        #expect(edit.patterns == ["a", "b"] && edit.uid == 0)
        for (index, request) in [describe.request, reset.request, edit.request].enumerated() {
            let entry = DurableEntry(
                request: request, uid: 1000, cursor: UInt64(index), durableName: "d", patterns: ["a"])
            harness.receive { buffer in
                DurableDescription(
                    entry,
                    settings: .init(
                        sharing: .group, deadlineMicroseconds: 30_000_000, retryDelays: [5, 1_000_000],
                        maximumDeliveries: 6, maximumInFlight: 7),
                    createdMicroseconds: 1_000_000, attachedMicroseconds: 2_000_000, attachedPID: 4,
                    expiryMicroseconds: 3_000_000, unusedMicroseconds: 0
                ).write(to: &buffer)
            }
            let details = NotificationClient.Administration.DurableDetails(try await slots[index].wait())
            #expect(details.subscription.cursor == index && details.subscription.patterns == ["a"])
            #expect(details.created?.timeIntervalSince1970 == 1)
            #expect(details.lastAttachment?.date.timeIntervalSince1970 == 2 && details.lastAttachment?.pid == 4)
            #expect(details.expiry == .seconds(3) && details.unused == .zero)
            #expect(
                details.settings
                    == .init(
                        deadline: .seconds(30), retryDelays: [.microseconds(5), .seconds(1)], maximumDeliveries: 6,
                        maximumInFlight: 7))
        }
    }

    @Test func `values that the daemon does not know are nil`() async throws {
        let details = NotificationClient.Administration.DurableDetails(
            DurableDescription(
                DurableEntry(request: 1, uid: 2, durableName: "d", patterns: ["a"]), settings: .init(retryDelays: [0])))
        #expect(details.created == nil && details.lastAttachment == nil)
        #expect(details.expiry == nil && details.unused == nil)
    }

    @Test func `a lost connection leaves the outcome of a change unknown`() async throws {
        let harness = try MachineHarness.ready()
        let slots = [
            harness.call(Describe(durableName: "d")), harness.call(Reset(durableName: "d", to: .now)),
        ]
        _ = try harness.read()
        harness.disconnect()
        #expect(await slots[0].code() == .connectionLost)
        #expect(await slots[1].code() == .outcomeUnknown)
    }

    @Test func `bad arguments are refused before they are sent`() async throws {
        let client = NotificationClient()
        await #expect(throws: NotifyError.self) { try await client.administration.durableSubscription("a b") }
        await #expect(throws: NotifyError.self) { try await client.administration.durableSubscription("a", uid: .max) }
        await #expect(throws: NotifyError.self) {
            try await client.administration.editDurableSubscription("d", patterns: [])
        }
        await #expect(throws: NotifyError.self) {
            try await client.administration.editDurableSubscription("d", patterns: ["a..b"])
        }
        await #expect(throws: NotifyError.self) {
            try await client.administration.resetDurableSubscription("d", to: .sequence(0))
        }
    }
}
