import NIOCore
import NotifyWire
import Testing

@testable import NotifyClient

@Suite(.timeLimit(.minutes(25))) struct ClientMachineSubscriptionTests {
    // MARK: Volatile

    @Test func `a delivery reaches every matching volatile subscription and no other`() async throws {
        let harness = try MachineHarness.ready()
        let all = try harness.subscribed([">"])
        let some = try harness.subscribed(["a.*", "a.b"])
        let object = try harness.subscribed(["a.>"], object: "x")
        let own = try harness.subscribed(["notifyd.>"])
        harness.receive { buffer in
            buffer.writeDelivery(1, "a.b")
            buffer.writeDelivery(2, "a.c", object: "x")
            buffer.writeDelivery(3, "c")
            buffer.writeDelivery(4, "notifyd.started")
        }
        #expect(try await all.drain().sequences == [1, 2, 3])
        #expect(try await some.drain().sequences == [1, 2])
        #expect(try await object.drain().sequences == [2])
        #expect(try await own.drain().sequences == [4])
    }

    @Test func `a subscription gets only messages after the sequence of its confirmation`() async throws {
        let harness = try MachineHarness.ready()
        let first = try harness.subscribed([">"], after: 0)
        let second = try harness.subscribed([">"], after: 5)
        harness.receive { buffer in
            for sequence: UInt64 in [4, 5, 6] { buffer.writeDelivery(sequence) }
        }
        #expect(try await first.drain().sequences == [4, 5, 6])
        #expect(try await second.drain().sequences == [6])
    }

    @Test func `gaps of the daemon keep their position`() async throws {
        let harness = try MachineHarness.ready()
        let one = try harness.subscribed(["a.>"])
        let other = try harness.subscribed([">"])
        harness.receive { buffer in
            buffer.writeDelivery(1)
            Gap(dropped: 3, range: .init(first: 2, last: 9)).write(to: &buffer)
            buffer.writeDelivery(10)
        }
        for subscription in [one, other] {
            #expect(try await subscription.buffer.next().sequences == [1])
            let taken = try await subscription.buffer.next()
            #expect(taken.gaps == [.init(reason: .connectionTooSlow, missed: 3, sequences: 2...9)])
            #expect(taken.sequences == [10])
        }
    }

    @Test func `a malformed gap does not trap`() async throws {
        let harness = try MachineHarness.ready()
        let one = try harness.subscribed([">"])
        harness.receive { Gap(dropped: .max, range: .init(first: 9, last: 2)).write(to: &$0) }
        #expect(try await one.drain().gaps == [.init(reason: .connectionTooSlow, missed: .max, sequences: nil)])
    }

    @Test func `after a reconnect, the gap is reported and the subscription continues`() async throws {
        let harness = try MachineHarness.ready()
        let one = try harness.subscribed(["a.>"], after: 3)
        harness.receive { $0.writeDelivery(7) }
        try harness.reconnect()
        let frames = try harness.acceptSubscriptions(after: 20)
        #expect(frames.map(\.patterns) == [["a.>"]])
        harness.receive { buffer in
            buffer.writeDelivery(20)
            buffer.writeDelivery(21)
        }
        let seen = try await one.drain()
        #expect(seen.sequences == [7, 21])
        #expect(seen.gaps == [.init(reason: .reconnected, missed: 13, isUpperBound: true, sequences: 8...20)])
    }

    @Test func `a gap after a reconnect begins after the last delivery or gap of any subscription`() async throws {
        let harness = try MachineHarness.ready()
        let rare = try harness.subscribed(["rare.>"], after: 3)
        let busy = try harness.subscribed(["busy.>"], after: 3)
        harness.receive { buffer in
            buffer.writeDelivery(4, "rare.a")
            buffer.writeDelivery(90, "busy.a")
            Gap(dropped: 2, range: .init(first: 91, last: 95)).write(to: &buffer)
        }
        try harness.reconnect()
        _ = try harness.acceptSubscriptions(after: 100)
        for subscription in [rare, busy] {
            let gap = try await subscription.drain().gaps.last
            #expect(gap == .init(reason: .reconnected, missed: 5, isUpperBound: true, sequences: 96...100))
        }
    }

    @Test func `without posts during the disconnection, there is no gap`() async throws {
        let harness = try MachineHarness.ready()
        let one = try harness.subscribed([">"], after: 3)
        harness.receive { $0.writeDelivery(7) }
        try harness.reconnect()
        _ = try harness.acceptSubscriptions(after: 7)
        harness.receive { $0.writeDelivery(8) }
        let seen = try await one.drain()
        #expect(seen.gaps.isEmpty && seen.sequences == [7, 8])
    }

    @Test func `a daemon whose sequences restart leaves the number of missed messages unknown`() async throws {
        let harness = try MachineHarness.ready()
        let one = try harness.subscribed([">"], after: 100)
        try harness.reconnect()
        _ = try harness.acceptSubscriptions(after: 4)
        #expect(try await one.drain().gaps == [.init(reason: .reconnected, missed: nil, sequences: nil)])
    }

    @Test func `an ending subscription gets no more messages and ends with the daemon's confirmation`() async throws {
        let harness = try MachineHarness.ready()
        let one = try harness.subscribed([">"])
        harness.receive { $0.writeDelivery(1) }
        let left = harness.leave(one)
        harness.receive { $0.writeDelivery(2) }
        let detach: Detach = try harness.read()[0].read()
        harness.receive { Detached(request: detach.request, subscription: detach.subscription).write(to: &$0) }
        try await left.wait()
        #expect(try await one.buffer.next().sequences == [1])
        #expect(try await one.buffer.next().isEmpty)
        try await harness.leave(one).wait()
    }

    @Test(arguments: [false, true])
    func `the error of an unconfirmed end mentions acknowledgements only for durable subscriptions`(
        isDurable: Bool
    ) async throws {
        for losesConnection in [false, true] {
            let harness = try MachineHarness.ready()
            let left = harness.leave(try harness.subscribed([">"], isDurable ? .durable("d") : .volatile()))
            if losesConnection {
                harness.disconnect()
            } else {
                harness.advance(by: NotificationClient.Configuration.manual.closingTimeout)
            }
            let error = await #expect(throws: NotifyError.self) { try await left.wait() }
            #expect(error?.code == .outcomeUnknown)
            #expect(error?.message.contains("acknowledged messages") == isDurable)
        }
    }

    @Test func `a frame split at any byte is processed once all of its bytes have arrived`() async throws {
        let harness = try MachineHarness.ready()
        let one = try harness.subscribed([">"])
        var frame = ByteBuffer()
        frame.writeDelivery(1, "a.b", object: "o", payload: "payload")
        let bytes = Array(frame.readableBytesView)
        for end in 0..<bytes.count {
            #expect(harness.receive { $0.writeBytes(bytes[..<end]) } == 0)
        }
        #expect(harness.receive { $0.writeBytes(bytes) } == bytes.count)
        #expect(try await one.drain().sequences == [1])
    }

    @Test func `a malformed frame closes the connection after earlier frames are processed`() async throws {
        let harness = try MachineHarness.ready()
        let one = try harness.subscribed([">"])
        harness.receive { buffer in
            buffer.writeDelivery(1)
            buffer.writeInteger(UInt32.max)
            buffer.writeInteger(UInt32.max)
            buffer.writeDelivery(2)
        }
        #expect(harness.channel == .close)
        #expect(try await one.drain().sequences == [1])
    }

    @Test func `a frame of an unknown kind is skipped`() async throws {
        let harness = try MachineHarness.ready()
        let one = try harness.subscribed([">"])
        harness.receive { buffer in
            buffer.writeInteger(UInt32(3), endianness: .little)
            buffer.writeBytes([0x7F, 0, 0, 0, 1, 2, 3])
            buffer.writeDelivery(1)
        }
        #expect(harness.warnings.count == 1)
        #expect(try await one.drain().sequences == [1])
    }

    // MARK: Opening

    @Test func `a refused subscription reports the reason`() async throws {
        let harness = try MachineHarness.ready()
        let one = try harness.subscribe(["user.1.>"])
        let subscribe: Subscribe = try harness.read()[0].read()
        harness.receive { ErrorFrame(request: subscribe.request, code: .forbidden, message: "no").write(to: &$0) }
        #expect(await one.openWaiter.code() == .forbidden)
        await #expect(throws: NotifyError.self) { try await one.buffer.next() }
    }

    @Test func `without a connection, a new subscription has a time limit, and an open one has none`() async throws {
        let harness = MachineHarness()
        let late = try harness.subscribe([">"])
        harness.advance(by: .seconds(5))
        #expect(await late.openWaiter.code() == .notConnected)

        let ready = try MachineHarness.ready()
        let one = try ready.subscribed([">"])
        ready.disconnect()
        ready.now += .seconds(1000)
        ready.advance(by: .zero)
        try ready.connect()
        _ = try ready.acceptSubscriptions(after: 9)
        #expect(try await one.drain().gaps.map(\.reason) == [.reconnected])
    }

    @Test func `ending an unconfirmed subscription cancels the call that opens the subscription`() async throws {
        let harness = try MachineHarness.ready()
        let one = try harness.subscribe([">"])
        let left = harness.leave(one)
        let frames = try harness.read()
        #expect(frames.map(\.kind) == [.subscribe, .detach])
        let (subscribe, detach) = (try frames[0].read(Subscribe.self), try frames[1].read(Detach.self))
        harness.receive { buffer in
            Subscribed(request: subscribe.request, subscription: subscribe.subscription, sequence: 0, isResumed: false)
                .write(to: &buffer)
            Detached(request: detach.request, subscription: detach.subscription).write(to: &buffer)
        }
        #expect(await one.openWaiter.code() == .stopped)
        try await left.wait()
        #expect(harness.channel == .connect)
    }
}
