import NotifyWire
import Testing

@testable import NotifyBroker

/// Turns of the event loop that can't flush everything.
struct FlushBudgetTests {
    private let host = TestHost()
    private let poster: Client
    private let readers: [Client]
    private let other: Client
    /// A payload that costs 2,048 units for each connection, so that a turn flushes about 230 connections.
    private let payload = [UInt8](repeating: 1, count: 64 << 10)

    init() {
        poster = host.connect(uid: 1)
        other = host.connect(uid: 2)
        readers = [TestHost](repeating: host, count: 1_000).map { $0.connect(uid: 1) }
        for reader in readers { reader.subscribe(1, ["a"]) }
        host.run()
        for reader in readers { _ = reader.take() }
    }

    private var spent: Int { host.core.broker.egress.flushBudget.spent }

    @Test func `a turn flushes up to its budget, and the rest follows in later turns`() {
        poster.post("a", payload: payload, .volatile)
        var turns = 0
        repeat {
            let before = spent
            host.tick()
            turns += 1
            #expect(spent - before <= FlushBudget.unitsPerTurn + 2 * FlushBudget.slice + 1_000 * FlushBudget.settling)
        } while host.wantsTick && turns < 100
        #expect(turns >= 4)
        #expect(readers.allSatisfy { $0.takeMessages().count == 1 })
        #expect(!host.core.broker.egress.isBehind)
    }

    @Test func `another user's answer is flushed in the next turn`() {
        poster.post("a", payload: payload, .volatile)
        host.tick()
        #expect(host.core.broker.egress.isBehind)
        other.ping()
        host.tick()
        #expect(other.take().count == 1)
        #expect(host.core.broker.egress.isBehind)
    }

    @Test func `bytes that are left to flush are charged in the same turn`() {
        poster.post("a", payload: payload, .volatile)
        host.tick()
        let waiting = readers.filter { $0.takeMessages().isEmpty }.count
        #expect(host.amount(of: .slowConnections, 1) == waiting)
        #expect(host.amount(of: .blockBytes, 1) > payload.count)
        host.run()
        #expect(host.amount(of: .blockBytes, 1) == 0)
        #expect(host.amount(of: .slowConnections, 1) == 0)
    }

    @Test func `posts of a user wait for the output of its earlier posts, and posts of other users do not`() {
        for _ in 0..<3 { poster.post("a", payload: payload, .volatile) }
        host.tick()
        for _ in 0..<3 { poster.post("a", payload: payload, .volatile) }
        other.post("b", .volatile)
        #expect(host.connection(poster).pauses.contains(.outputBehind))
        host.tick()
        #expect(other.take().count == 1)
        #expect(host.connection(poster).pauses.contains(.outputBehind))
        host.run()
        #expect(host.connection(poster).pauses == [])
        #expect(readers.allSatisfy { $0.takeMessages().count == 6 })
        #expect(poster.take().count == 6)
    }

    @Test func `a connection that reuses the slot of a waiting one is flushed`() {
        poster.post("a", payload: payload, .volatile)
        host.tick()
        for reader in readers.suffix(10) { host.closed(reader) }
        let replacement = host.connect(uid: 1)
        #expect(!readers.contains { $0.id == replacement.id })
        replacement.ping()
        host.run()
        #expect(replacement.take().count == 1)
        #expect(readers.dropLast(10).allSatisfy { $0.takeMessages().count == 1 })
    }

    @Test func `long outboxes are flushed in slices, and each connection gets a part in a turn`() {
        // Measured by the capacity of the blocks, each slow reader's outbox holds 4 MiB. Together, they hold less than
        // the user's limit.
        let slow = readers.prefix(12)
        for reader in readers.dropFirst(12) { reader.detach(1) }
        host.run()
        for reader in slow { reader.stopTaking() }
        for _ in 0..<32 { poster.post("a", payload: payload, .volatile) }
        host.run()
        for reader in slow { reader.makeRoom() }
        let before = spent
        host.tick()
        #expect(spent - before <= FlushBudget.unitsPerTurn + 2 * FlushBudget.slice)
        let received = slow.map { $0.takeMessages().count }
        #expect(received.allSatisfy { (1..<32).contains($0) }, "\(received)")
        host.run()
        let rest = slow.map { $0.takeMessages().count }
        let dropped = slow.map { host.connection($0).counters.dropped }
        #expect(zip(received, rest).allSatisfy { $0 + $1 == 32 }, "\(received), \(rest), dropped \(dropped)")
    }

    @Test func `connections that wait to be flushed drop nothing, and connections that do not read do`() {
        let (slow, fast) = (readers.prefix(100), readers.dropFirst(100))
        for reader in slow { reader.stopTaking() }
        for _ in 0..<32 { poster.post("a", payload: payload, .volatile) }
        host.run()
        for reader in slow { reader.makeRoom() }
        host.run()
        #expect(fast.allSatisfy { $0.takeMessages().count == 32 })
        let dropped = slow.map { Int(host.connection($0).counters.dropped) }
        #expect(dropped.contains { $0 > 0 })
        #expect(zip(slow, dropped).allSatisfy { $0.takeMessages().count + $1 == 32 }, "\(dropped)")
    }
}
