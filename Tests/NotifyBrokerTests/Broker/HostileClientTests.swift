import NotifyLog
import NIOCore
@testable import NotifyBroker
import NotifyWire
import Testing
import WireTestSupport

/// Clients that misbehave or do not read, and requests that could cost more than the bytes sent for them. One client
/// must not slow the others.
struct HostileClientTests {
    @Test func `listing resumes as its answers are read`() throws {
        var configuration = BrokerConfiguration()
        configuration.answerBytesPerConnection = 10_000
        let host = TestHost(configuration)
        let client = host.connect()
        for number in 1...100 as ClosedRange<UInt32> { client.subscribe(number, ["a.b"], durable: "d\(number)") }
        host.run()
        _ = client.take()

        var frames: [UInt8] = []
        for _ in 0..<1000 { frames += ListRequest(request: client.nextRequest()).encoded }
        client.stopTaking()
        client.send(frames)
        host.run()
        #expect(!client.isRead)
        // The capacity of a buffer is rounded up to a power of two.
        #expect(host.amount(of: .answerBytes, 1000) <= 16_384)
        client.makeRoom()
        host.run()
        #expect(client.isRead)
        let ends = client.take().filter { if case .listEnd = $0 { true } else { false } }
        #expect(ends.count == 1000)
    }

    @Test func `messages in overlapping ranges are acknowledged once, in any order of the ranges`() throws {
        let host = TestHost()
        let client = host.connect()
        client.subscribe(1, ["a"], durable: "d")
        host.run()
        for _ in 0..<5 { client.post("a", receipt: false) }
        host.run()
        let sequences = client.takeMessages().map(\.sequence)
        try #require(sequences.count == 5)
        client.acknowledge(1, sequences[3]...sequences[4], sequences[0]...sequences[1], sequences[0]...sequences[3])
        host.advance(.seconds(1))
        host.run()
        #expect(client.takeErrors() == [])
        #expect(host.store.subscription(named: "d")?.progress.cursor == sequences[4])
    }

    @Test func `no frame follows the final error of a connection`() throws {
        let host = TestHost()
        let client = host.connect()
        client.post("a", .stored)
        host.tick()
        client.stopTaking()
        client.send([0xFF, 0xFF, 0xFF, 0xFF, 2, 0, 0, 0])
        host.run()
        client.makeRoom()
        host.run()
        let received = client.take()
        guard case .error(let error)? = received.last, received.count == 1 else {
            Issue.record("\(received)")
            return
        }
        #expect(error.isFatal && error.code == ErrorCode.frameTooLarge.rawValue)
    }

    @Test func `while the disk hangs, posts to be stored are refused before they fill the memory`() {
        var configuration = BrokerConfiguration()
        configuration.pendingLogBytes = 1000
        let host = TestHost(configuration)
        let posters = (0..<100).map { _ in host.connect() }
        posters[0].post("a", .stored)
        host.tick()
        // From here on, the store completes no request.
        for poster in posters[1...] { poster.post("a", payload: [UInt8](repeating: 0, count: 500), .stored) }
        for _ in 0..<3 { host.tick() }
        let refused = posters.flatMap { $0.takeErrors() }
        #expect(refused.count > 50)
        #expect(refused.allSatisfy { $0.code == ErrorCode.storageFailed.rawValue })
        #expect(host.pendingBytes <= 9 * 1000)
        host.run()
        let receipts = posters.flatMap { $0.take() }.count
        #expect(receipts == 100 - refused.count)
    }

    @Test func `each connection that does not greet is closed at its own deadline`() {
        var configuration = BrokerConfiguration()
        configuration.greetingTimeout = .seconds(10)
        let host = TestHost(configuration)
        let first = host.connect(greets: false)
        host.advance(.seconds(4))
        let second = host.connect(greets: false)
        #expect(host.nextDeadline == .seconds(10))
        host.advance(.seconds(6))
        host.run()
        #expect(first.isClosed && !second.isClosed)
        host.advance(.seconds(3))
        #expect(!second.isClosed)
        host.advance(.seconds(1))
        host.run()
        #expect(second.isClosed)
        #expect(host.nextDeadline == nil)
    }

    @Test func `the count of subscriptions includes durable ones only while they are attached`() {
        let host = TestHost()
        let client = host.connect()
        client.subscribe(1, ["a"], durable: "d")
        client.subscribe(2, ["a"])
        host.run()
        #expect(host.counter("subscriptions") == 2)
        let again = host.connect(instance: host.connection(client).instance)
        again.subscribe(1, ["a"], durable: "d")
        host.run()
        #expect(host.counter("subscriptions") == 2)
        host.closed(client)
        host.run()
        #expect(host.counter("subscriptions") == 1)
        again.detach(1)
        host.run()
        #expect(host.counter("subscriptions") == 0)
        #expect(host.counter("durable_subscriptions") == 1)
    }

    @Test func `messages of a connection over its limit are dropped many at a time`() {
        var configuration = BrokerConfiguration()
        configuration.outboxBytesPerConnection = 64 << 10
        let host = TestHost(configuration)
        let reader = host.connect()
        reader.subscribe(1, ["a"])
        host.run()
        let poster = host.connect(pid: 78)
        reader.stopTaking()
        for _ in 0..<2000 {
            poster.post("a", payload: [UInt8](repeating: 0, count: 200), receipt: false)
            host.tick()
        }
        let gaps = host.counter("gaps") ?? 0
        #expect(gaps > 1 && gaps < 100)
        #expect(host.counter("dropped").map { $0 > 1500 } == true)
    }
}
