import NotifyLog
import NotifyWire
import Testing

@testable import NotifyBroker

/// The charges and limits of the kernel's memory for bytes that peers do not read.
struct SocketMemoryTests {
    private func host(memory: Int = 1 << 30) -> TestHost {
        var configuration = BrokerConfiguration()
        configuration.memoryBytes = memory
        return TestHost(configuration)
    }

    @Test func `unread bytes in a socket are charged until they are read`() {
        let host = host()
        let client = host.connect()
        client.socketBytes = 100_000
        client.ping()
        host.run()
        #expect(host.amount(of: .socketBytes, 1000) == 98_304)
        #expect(host.counter("socket_bytes") == 98_304)
        client.socketBytes = 0
        host.advance(UnreadSockets.interval)
        #expect(host.amount(of: .socketBytes, 1000) == 0)
        #expect(host.nextDeadline == nil)
    }

    @Test func `the charge ends with the connection`() {
        let host = host()
        let client = host.connect()
        client.socketBytes = 100_000
        client.ping()
        host.run()
        host.closed(client)
        host.run()
        #expect(host.holdsNothing(1000))
        #expect(host.nextDeadline == nil)
    }

    @Test func `a closed connection's socket with unread bytes is charged until it is released`() {
        let host = host(memory: 4 << 20)
        host.core.broker.socketLeft(uid: 1000, bytes: 2 << 20)
        #expect(host.amount(of: .connections, 1000) == 1 && host.amount(of: .socketBytes, 1000) == 2 << 20)
        let refused = host.connect(greets: false)
        host.run()
        #expect(refused.takeErrors().contains { $0.message.contains("exceeds its share") })
        host.core.broker.socketReleased(uid: 1000, bytes: 2 << 20)
        host.closed(refused)
        host.run()
        #expect(host.holdsNothing(1000))
    }

    @Test func `no bytes are added to unread sockets of a user that exceeds the memory share`() {
        let host = host(memory: 4 << 20)
        let (slow, fast) = (host.connect(), host.connect())
        slow.socketBytes = 2 << 20
        slow.ping()
        host.run()
        #expect(slow.take().count == 1)
        slow.ping()
        fast.ping()
        host.run()
        #expect(slow.take().isEmpty)
        #expect(fast.take().count == 1, "its socket is empty")
        slow.socketBytes = 0
        host.advance(UnreadSockets.interval)
        host.run()
        #expect(slow.take().count == 1)
    }

    @Test func `send buffers shrink with the number of connections`() {
        var ledger = Ledger(BrokerConfiguration())
        #expect(ledger.sendBufferBytes(of: 1) == nil)
        var total = 0
        for _ in 0..<16_384 {
            ledger.change(.connections, by: 1, uid: 1)
            total += ledger.sendBufferBytes(of: 1) ?? 208 << 10
        }
        #expect(ledger.sendBufferBytes(of: 1) == 16 << 10)
        #expect(total < ledger.room(of: 1))
    }
}
