import NotifyLog
import NIOCore
@testable import NotifyBroker
import NotifyWire
import Testing
import WireTestSupport

/// What one client asks must cost the daemon, and so everybody else, no more than that client could have sent.
struct HostileClientTests {
    @Test func `listing resumes as its answers are read`() throws {
        var configuration = BrokerConfiguration()
        configuration.answerBytesPerConnection = 10_000
        let shell = Shell(configuration)
        let client = shell.connect()
        for number in 1...100 as ClosedRange<UInt32> { client.subscribe(number, ["a.b"], durable: "d\(number)") }
        shell.run()
        _ = client.take()

        var frames: [UInt8] = []
        for _ in 0..<1000 { frames += ListRequest(request: client.nextRequest()).encoded }
        client.stopTaking()
        client.send(frames)
        shell.run()
        #expect(!client.isRead)
        // A buffer's size is a power of two.
        #expect(shell.amount(of: .answerBytes, 1000) <= 16_384)
        client.makeRoom()
        shell.run()
        #expect(client.isRead)
        let ends = client.take().filter { if case .listEnd = $0 { true } else { false } }
        #expect(ends.count == 1000)
    }

    @Test func `overlapping ranges in any order are acknowledged once`() throws {
        let shell = Shell()
        let client = shell.connect()
        client.subscribe(1, ["a"], durable: "d")
        shell.run()
        for _ in 0..<5 { client.post("a", receipt: false) }
        shell.run()
        let sequences = client.takeMessages().map(\.sequence)
        try #require(sequences.count == 5)
        client.acknowledge(1, sequences[3]...sequences[4], sequences[0]...sequences[1], sequences[0]...sequences[3])
        shell.advance(.seconds(1))
        shell.run()
        #expect(client.takeErrors() == [])
        #expect(shell.store.subscription(named: "d")?.progress.cursor == sequences[4])
    }

    @Test func `nothing follows the error that ends a connection`() throws {
        let shell = Shell()
        let client = shell.connect()
        client.post("a", .stored)
        shell.tick()
        client.stopTaking()
        client.send([0xFF, 0xFF, 0xFF, 0xFF, 2, 0, 0, 0])
        shell.run()
        client.makeRoom()
        shell.run()
        let received = client.take()
        guard case .error(let error)? = received.last, received.count == 1 else {
            Issue.record("\(received)")
            return
        }
        #expect(error.isFatal && error.code == ErrorCode.frameTooLarge.rawValue)
    }

    @Test func `stored posts are refused before they fill the memory while the disk hangs`() {
        var configuration = BrokerConfiguration()
        configuration.pendingLogBytes = 1000
        let shell = Shell(configuration)
        let posters = (0..<100).map { _ in shell.connect() }
        posters[0].post("a", .stored)
        shell.tick()
        // The store does nothing from here on.
        for poster in posters[1...] { poster.post("a", payload: [UInt8](repeating: 0, count: 500), .stored) }
        for _ in 0..<3 { shell.tick() }
        let refused = posters.flatMap { $0.takeErrors() }
        #expect(refused.count > 50)
        #expect(refused.allSatisfy { $0.code == ErrorCode.storageFailed.rawValue })
        #expect(shell.pendingBytes <= 9 * 1000)
        shell.run()
        let receipts = posters.flatMap { $0.take() }.count
        #expect(receipts == 100 - refused.count)
    }

    @Test func `late greetings end one by one at their own deadlines`() {
        var configuration = BrokerConfiguration()
        configuration.greetingTimeout = .seconds(10)
        let shell = Shell(configuration)
        let first = shell.connect(greets: false)
        shell.advance(.seconds(4))
        let second = shell.connect(greets: false)
        #expect(shell.nextDeadline == .seconds(10))
        shell.advance(.seconds(6))
        shell.run()
        #expect(first.isClosed && !second.isClosed)
        shell.advance(.seconds(3))
        #expect(!second.isClosed)
        shell.advance(.seconds(1))
        shell.run()
        #expect(second.isClosed)
        #expect(shell.nextDeadline == nil)
    }

    @Test func `the count of live subscriptions follows attached durable subscriptions`() {
        let shell = Shell()
        let client = shell.connect()
        client.subscribe(1, ["a"], durable: "d")
        client.subscribe(2, ["a"])
        shell.run()
        #expect(shell.counter("subscriptions") == 2)
        let again = shell.connect(instance: shell.connection(client).instance)
        again.subscribe(1, ["a"], durable: "d")
        shell.run()
        #expect(shell.counter("subscriptions") == 2)
        shell.closed(client)
        shell.run()
        #expect(shell.counter("subscriptions") == 1)
        again.detach(1)
        shell.run()
        #expect(shell.counter("subscriptions") == 0)
        #expect(shell.counter("durable_subscriptions") == 1)
    }

    @Test func `a connection over its limit is not scanned for every message`() {
        var configuration = BrokerConfiguration()
        configuration.outboxBytesPerConnection = 64 << 10
        let shell = Shell(configuration)
        let reader = shell.connect()
        reader.subscribe(1, ["a"])
        shell.run()
        let poster = shell.connect(pid: 78)
        reader.stopTaking()
        for _ in 0..<2000 {
            poster.post("a", payload: [UInt8](repeating: 0, count: 200), receipt: false)
            shell.tick()
        }
        let gaps = shell.counter("gaps") ?? 0
        #expect(gaps > 1 && gaps < 100)
        #expect(shell.counter("dropped").map { $0 > 1500 } == true)
    }
}
