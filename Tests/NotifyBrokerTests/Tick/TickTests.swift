import WireTestSupport
import NotifyLog
import NotifyWire
import Testing

@testable import NotifyBroker

/// Calls into the broker during a flush. For example, a host closes a connection at once when a write fails.
struct TickTests {
    @Test func `a flush may close its own connection`() {
        let host = TestHost()
        let (poster, reader) = (host.connect(), host.connect())
        reader.subscribe(1, ["a"])
        host.run()
        host.onFlush = { [unowned host] id in if id == reader.id { host.closed(reader) } }
        poster.post("a", .volatile)
        host.run()
        #expect(host.connectionCount == 1)
        #expect(poster.take().count == 1)
        #expect(host.volatileSubscriptionCount == 0)
    }

    @Test func `a flush may close connections that are still to be flushed`() {
        let host = TestHost()
        let poster = host.connect()
        let readers = (0..<4).map { _ in host.connect() }
        for reader in readers { reader.subscribe(1, ["a"]) }
        readers[3].subscribe(2, ["a"], durable: "inbox")
        host.run()
        for reader in readers { _ = reader.take() }
        var replacement: Client?
        host.onFlush = { [unowned host] id in
            guard id == readers[0].id, replacement == nil else { return }
            for reader in readers[1...] { host.closed(reader) }
            // The new connection reuses the slot of a connection that was closed in the same tick.
            replacement = host.connect(Peer(identity: .init(uid: 1000, gid: 1000), pid: 1), greeting: nil)
        }
        poster.post("a", .stored)
        host.run()
        #expect(readers[0].takeMessages().count == 1)
        #expect(readers[1...].allSatisfy { $0.take().isEmpty })
        #expect(replacement.map { $0.id.slot } != nil && replacement?.take() == [])
        #expect(host.connectionCount == 3)
        #expect(host.durable("inbox")?.firstMember == nil)
    }

    @Test func `a flush may receive bytes of another connection`() {
        let host = TestHost()
        let (poster, reader) = (host.connect(), host.connect())
        reader.subscribe(1, ["a"])
        host.run()
        _ = reader.take()
        var isFirst = true
        host.onFlush = { _ in
            guard isFirst else { return }
            isFirst = false
            poster.post("a", payload: [2], .volatile)
        }
        poster.post("a", payload: [1], .volatile)
        host.run()
        host.run()
        #expect(reader.takeMessages().map(\.payload) == [[1], [2]])
    }

    @Test func `sequences are reported before bytes are sent`() {
        let host = TestHost()
        let client = host.connect()
        client.subscribe(1, ["a"])
        host.run()
        var reported: [UInt64] = []
        host.onFlush = { [unowned host] _ in reported.append(host.usedBelow) }
        client.post("a", .volatile)
        host.tick()
        #expect(reported == [host.lastSequence + 1])
    }
}
