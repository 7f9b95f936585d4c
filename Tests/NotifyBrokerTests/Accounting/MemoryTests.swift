import NotifyCenter
import NotifyLog
import NotifyWire
import Testing
import WireTestSupport

@testable import NotifyBroker

/// The charges and limits of the memory that the daemon holds for clients.
struct MemoryTests {
    private func configuration(memory: Int) -> BrokerConfiguration {
        var configuration = BrokerConfiguration()
        configuration.memoryBytes = memory
        return configuration
    }

    // MARK: Shares

    @Test func `a user may hold half of the memory that others leave`() throws {
        var ledger = Ledger(configuration(memory: 1_000_000))
        #expect(ledger.room(of: 7) == 475_000)
        #expect(ledger.room(of: 0) == 1_000_000, "root has no limit below the total")
        ledger.change(.answerBytes, by: 475_000, uid: 7)
        #expect(ledger.room(of: 7) == 0)
        #expect(ledger.room(of: 8) == 237_500)
        let error = #expect(throws: WireError.self) { try ledger.checkRoom(for: 1, uid: 7) }
        #expect(error?.code == .limitReached)
        #expect(error?.message.contains("limits.memory_bytes is 1000000") == true)
        ledger.change(.answerBytes, by: 237_500, uid: 8)
        #expect(ledger.room(of: 7) < 0, "the bytes of other users reduce the room")
        #expect(ledger.room(of: 0) == 287_500)
    }

    @Test func `counts and the bytes that wait in outboxes are not charged as memory`() {
        var ledger = Ledger(configuration(memory: 1_000_000))
        for resource in [
            Ledger.Resource.connections, .subscriptions, .durableSubscriptions, .slowConnections, .outboxBytes,
        ] {
            ledger.change(resource, by: 1000, uid: 1)
        }
        #expect(ledger.totalBytes == 0)
        ledger.change(.nameBytes, by: 5, uid: 1)
        #expect(ledger.totalBytes == 5 && ledger.bytes(of: 1) == 5)
    }

    @Test func `a user whose undroppable data exceeds half of the share is under memory pressure`() {
        var ledger = Ledger(configuration(memory: 1_000_000))
        ledger.change(.answerBytes, by: 237_500, uid: 1)
        #expect(!ledger.isUnderMemoryPressure(1))
        ledger.change(.answerBytes, by: 1, uid: 1)
        #expect(ledger.isUnderMemoryPressure(1))
        ledger.change(.blockBytes, by: 200_000, uid: 1)
        ledger.change(.outboxBytes, by: 300_000, uid: 1)
        ledger.change(.slowConnections, by: 3, uid: 1)
        #expect(ledger.outboxLimitPerConnection(uid: 1) == nil)
        ledger.change(.blockBytes, by: 100_000, uid: 1)
        #expect(ledger.outboxLimitPerConnection(uid: 1) == 50_000)
    }

    @Test func `the read limit shrinks with more connections and more pending data`() {
        var ledger = Ledger(BrokerConfiguration())
        ledger.change(.connections, by: 1, uid: 1)
        #expect(ledger.readLimit(of: 1) == 256 << 10)
        ledger.change(.connections, by: 1023, uid: 1)
        #expect(ledger.readLimit(of: 1) == 16 << 10)
        ledger.change(.receivedBytes, by: 9 << 20, uid: 1)
        #expect(ledger.readLimit(of: 1) == 1 << 10)
        ledger.change(.connections, by: 1, uid: 2)
        #expect(ledger.readLimit(of: 2) == 256 << 10, "other users are not affected")
    }

    // MARK: Subscribers that do not read

    @Test func `a stopped durable subscriber costs less than a megabyte`() {
        let host = TestHost()
        let (poster, stopped) = (host.connect(uid: 1), host.connect(uid: 2))
        stopped.subscribe(1, ["a"], durable: "d", window: 16_384)
        host.run()
        stopped.stopTaking()
        for _ in 0..<20 {
            for _ in 0..<500 { poster.post("a", payload: [UInt8](repeating: 1, count: 1000), .stored, receipt: false) }
            host.run()
        }
        #expect(host.store.messages.count == 10_000)
        let held = host.core.broker.ledger.bytes(of: 2)
        #expect(held < 1 << 20)
        stopped.makeRoom()
        host.run()
        #expect(stopped.takeMessages().count == 10_000)
    }

    @Test func `bytes that the host holds for a socket are charged`() {
        let host = TestHost()
        let (poster, stopped) = (host.connect(uid: 1), host.connect(uid: 2))
        stopped.subscribe(1, ["a"])
        host.run()
        // The socket accepts one write, and then blocks.
        stopped.room = 1
        poster.post("a", payload: [UInt8](repeating: 1, count: 100_000), .volatile)
        host.run()
        #expect(host.amount(of: .blockBytes, 2) >= 100_000)
        #expect(host.amount(of: .outboxBytes, 2) == 0)
        stopped.makeRoom()
        host.run()
        #expect(host.amount(of: .blockBytes, 2) == 0)
    }

    @Test func `bytes that a socket has sent are no longer charged`() {
        let host = TestHost()
        let (poster, slow) = (host.connect(uid: 1), host.connect(uid: 2))
        slow.subscribe(1, ["a"])
        host.run()
        // In each round, the socket accepts some of the pending bytes, and more bytes are posted.
        for _ in 0..<20 {
            slow.room = 50_000
            slow.send(StatisticsRequest(request: slow.nextRequest()))
            poster.post("a", payload: [UInt8](repeating: 1, count: 100_000), .volatile)
            host.run()
        }
        #expect((100_000..<250_000).contains(host.core.broker.ledger.bytes(of: 2)))
    }

    @Test func `a fast subscriber is unaffected by stopped connections of the same user`() {
        var configuration = BrokerConfiguration()
        configuration.outboxBytesPerUser = 1 << 20
        configuration.answerBytesPerConnection = 64 << 10
        let host = TestHost(configuration)
        let poster = host.connect(uid: 1)
        let siblings = (0..<80).map { _ in host.connect(uid: 2) }
        for sibling in siblings {
            sibling.subscribe(1, [">"])
            host.run()
            sibling.stopTaking()
            for _ in 0..<200 { sibling.send(StatisticsRequest(request: sibling.nextRequest())) }
            host.run()
        }
        let fast = host.connect(uid: 2)
        fast.subscribe(1, [">"])
        host.run()
        _ = fast.take()
        for _ in 0..<500 {
            fast.room = 500
            poster.post("a", payload: [UInt8](repeating: 1, count: 1000), .volatile)
            host.tick()
            fast.makeRoom()
            host.run()
        }
        let received = fast.take()
        #expect(received.count == 500)
        #expect(!received.contains { if case .gap = $0 { true } else { false } })
        #expect(host.amount(of: .outboxBytes, 2) <= 1 << 20)
    }

    @Test func `a message for many connections of a user is charged once`() {
        let host = TestHost(configuration(memory: 32 << 20))
        let poster = host.connect(uid: 1)
        let stopped = (0..<60).map { _ in host.connect(uid: 2) }
        for reader in stopped {
            reader.subscribe(1, [">"])
            host.run()
            reader.stopTaking()
        }
        for _ in 0..<200 {
            for _ in 0..<20 {
                poster.post("a", payload: [UInt8](repeating: 1, count: 10_000), .volatile, receipt: false)
            }
            host.run()
        }
        let ledger = host.core.broker.ledger
        #expect(
            (1 << 20..<8 << 20).contains(ledger.bytes(of: 2)), "messages pending for many connections are charged once")
        #expect(host.amount(of: .outboxBytes, 2) > 60 << 20)
        for reader in stopped { reader.makeRoom() }
        host.run()
        #expect(stopped.allSatisfy { reader in reader.take().contains { if case .gap = $0 { true } else { false } } })
    }

    // MARK: Requests

    @Test func `subscriptions over the memory share are refused with the limit's name`() throws {
        let host = TestHost(configuration(memory: 2 << 20))
        let client = host.connect()
        for number in 1...2_000 as ClosedRange<UInt32> {
            client.subscribe(number, (0..<8).map { "n\(number).p\($0).*.x" })
        }
        host.run()
        let errors = client.takeErrors()
        #expect(!errors.isEmpty)
        #expect(errors.allSatisfy { $0.message.contains("limits.memory_bytes is 2097152") && !$0.isFatal })
        #expect(host.core.broker.ledger.totalBytes < 1 << 20)
        // Other users have room.
        let other = host.connect(uid: 5)
        other.subscribe(1, ["a.*"])
        host.run()
        #expect(other.takeErrors() == [])
        // Released resources are available again.
        host.closed(client)
        let next = host.connect()
        next.subscribe(1, ["a.*"])
        host.run()
        #expect(next.takeErrors() == [])
    }

    @Test func `patterns cost at most 300 bytes per token`() throws {
        var subscriptions = Subscriptions(maximumOverlap: .max)
        var registration: UInt64?
        var tokens = 0
        for number in 0..<2_000 {
            let pattern = (["n\(number)"] + (0..<31).map { "t\($0)" }).joined(separator: ".").dropLast(4) + ".*"
            tokens += pattern.split(separator: ".").count
            _ = try subscriptions.addVolatile(
                SubscriptionFilter(patterns: [NamePattern(String(pattern))]), to: ConnectionSlot(1),
                registration: &registration, uid: 1)
        }
        let bytes = subscriptions.byteCount(of: 1)
        #expect(bytes / tokens <= 300)
    }

    @Test func `attach and detach requests are paused while the disk hangs`() {
        var configuration = BrokerConfiguration()
        configuration.pendingLogBytes = 64 << 10
        let host = TestHost(configuration)
        let client = host.connect()
        var sent = 0
        client.subscribe(1, ["a"], durable: "d")
        host.tick()
        while client.isRead, sent < 10_000 {
            client.detach(1)
            client.subscribe(1, ["a"], durable: "d")
            host.tick()
            sent += 1
        }
        #expect(sent < 200)
        #expect(host.pendingBytes < 70 << 10)
        host.run()
        #expect(client.isRead)
    }

    @Test func `unread answers are bounded`() {
        let host = TestHost(configuration(memory: 4 << 20))
        let clients = (0..<100).map { _ in host.connect() }
        for client in clients {
            client.stopTaking()
            for _ in 0..<500 { client.send(StatisticsRequest(request: client.nextRequest())) }
            host.run()
        }
        let held = host.core.broker.ledger.bytes(of: 1000)
        #expect(held < 3 << 20)
        for client in clients { client.makeRoom() }
        host.run()
        #expect(clients.allSatisfy { $0.take().count == 500 })
    }

    @Test func `the tail ring is emptied while other data takes most of the memory`() {
        let host = TestHost(configuration(memory: 8 << 20))
        let poster = host.connect(uid: 0)
        for _ in 0..<3 {
            for _ in 0..<100 {
                poster.post("a", payload: [UInt8](repeating: 0, count: 10_000), .stored, receipt: false)
            }
            host.run()
        }
        #expect(host.core.broker.pages.readers.ring.bytes > 2 << 20)
        host.core.broker.ledger.change(.answerBytes, by: 7 << 20, uid: 0)
        host.run()
        #expect(host.core.broker.pages.readers.ring.bytes == 0)
        host.core.broker.ledger.change(.answerBytes, by: -7 << 20, uid: 0)
        host.run()
        poster.post("a", payload: [UInt8](repeating: 0, count: 10_000), .stored, receipt: false)
        host.run()
        #expect(host.core.broker.pages.readers.ring.bytes > 0)
    }
}
