import WireTestSupport
import NotifyLog
import NotifyWire
import Testing

@testable import NotifyBroker

/// Hosts call back while they flush: a write that fails closes its connection at once.
struct TickTests {
    @Test func `a flush may close its own connection`() {
        let shell = Shell()
        let (poster, reader) = (shell.connect(), shell.connect())
        reader.subscribe(1, ["a"])
        shell.run()
        shell.onFlush = { [unowned shell] id in if id == reader.id { shell.closed(reader) } }
        poster.post("a", .volatile)
        shell.run()
        #expect(shell.connectionCount == 1)
        #expect(poster.take().count == 1)
        #expect(shell.volatileSubscriptionCount == 0)
    }

    @Test func `a flush may close connections that are still to be flushed`() {
        let shell = Shell()
        let poster = shell.connect()
        let readers = (0..<4).map { _ in shell.connect() }
        for reader in readers { reader.subscribe(1, ["a"]) }
        readers[3].subscribe(2, ["a"], durable: "inbox")
        shell.run()
        for reader in readers { _ = reader.take() }
        var replacement: Client?
        shell.onFlush = { [unowned shell] id in
            guard id == readers[0].id, replacement == nil else { return }
            for reader in readers[1...] { shell.closed(reader) }
            // Takes the slot of one that was just closed, within the same tick.
            replacement = shell.connect(Peer(identity: .init(uid: 1000, gid: 1000), pid: 1), greeting: nil)
        }
        poster.post("a", .stored)
        shell.run()
        #expect(readers[0].takeMessages().count == 1)
        #expect(readers[1...].allSatisfy { $0.take().isEmpty })
        #expect(replacement.map { $0.id.slot } != nil && replacement?.take() == [])
        #expect(shell.connectionCount == 3)
        #expect(shell.durable("inbox")?.member == nil)
    }

    @Test func `a flush may receive bytes of another connection`() {
        let shell = Shell()
        let (poster, reader) = (shell.connect(), shell.connect())
        reader.subscribe(1, ["a"])
        shell.run()
        _ = reader.take()
        var isFirst = true
        shell.onFlush = { _ in
            guard isFirst else { return }
            isFirst = false
            poster.post("a", payload: [2], .volatile)
        }
        poster.post("a", payload: [1], .volatile)
        shell.run()
        shell.run()
        #expect(reader.takeMessages().map(\.payload) == [[1], [2]])
    }

    @Test func `sequences are reported before bytes are sent`() {
        let shell = Shell()
        let client = shell.connect()
        client.subscribe(1, ["a"])
        shell.run()
        var reported: [UInt64] = []
        shell.onFlush = { [unowned shell] _ in reported.append(shell.usedBelow) }
        client.post("a", .volatile)
        shell.tick()
        #expect(reported == [shell.lastSequence + 1])
    }
}
