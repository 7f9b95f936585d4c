import NotifyLog
import NotifyWire
import Testing
import WireTestSupport

@testable import NotifyBroker

/// Peers that have shut down their sending direction. They get their answers, and then the connection ends.
struct EndedInputTests {
    private let host = TestHost()
    private let client: Client

    init() { client = host.connect() }

    private func endInput() { host.core.broker.inputEnded(client.id, now: host.now) }

    @Test func `a peer without open requests is closed`() {
        endInput()
        host.run()
        #expect(client.isClosed)
        #expect(host.connectionCount == 0)
    }

    @Test func `receipts that wait for a commit are sent first`() {
        for _ in 0..<50 { client.post("a", .stored) }
        endInput()
        host.runTicks()
        #expect(!client.isClosed)
        host.run()
        #expect(client.isClosed)
        #expect(client.take().count { if case .receipt = $0 { true } else { false } } == 50)
    }

    @Test func `every kind of request that waits is answered first`() {
        // Only root may reload the configuration.
        let client = host.connect(uid: 0)
        client.subscribe(1, ["a"], durable: "inbox")
        client.subscribe(2, ["b"])
        client.detach(1)
        client.send(Edit(request: client.nextRequest(), durableName: "inbox", patterns: ["b"]))
        client.send(ReadLog(request: client.nextRequest(), patterns: [">"]))
        client.send(ListRequest(request: client.nextRequest()))
        client.send(Reload(request: client.nextRequest()))
        client.remove("inbox")
        host.core.broker.inputEnded(client.id, now: host.now)
        host.run()
        #expect(!client.isClosed, "the answer to the reload is missing")
        for reload in host.reloadRequests {
            host.core.broker.configurationReloaded(
                for: reload.id, request: reload.request, pendingSettings: [], error: nil)
        }
        host.run()
        #expect(client.isClosed)
        let received = client.take()
        #expect(received.contains { if case .reloaded = $0 { true } else { false } })
        #expect(received.count >= 8, "\(received)")
    }

    /// Requests of root that wait for the store. The log has one message, and one durable subscription.
    private static let waitingRequests: [@Sendable (UInt64) -> any ControlFrame] = [
        { CheckRequest(request: $0, isFull: false) },
        { CheckRequest(request: $0, isFull: true) },
        { TraceRequest(request: $0, sequence: 1) },
        { ReadLog(request: $0, patterns: [">"]) },
        { SummarizeLog(request: $0, patterns: [">"]) },
        { Find(request: $0, position: .age(microseconds: 0)) },
        { Purge(request: $0, patterns: [">"]) },
        { DeadLetters(request: $0, action: .purge) },
        { ListRequest(request: $0, subject: .backlogs) },
        { ListRequest(request: $0, subject: .subscriptions) },
        { Describe(request: $0, durableName: "inbox") },
        { Subscribe(request: $0, subscription: 2, patterns: ["a"], durableName: "other", creation: .only) },
    ]

    @Test(arguments: waitingRequests.indices)
    func `a request that waits for the store is answered first`(_ index: Int) {
        let client = host.connect(uid: 0)
        client.subscribe(1, ["a"], durable: "inbox")
        client.post("a", .stored)
        host.run()
        _ = client.take()
        client.send(Self.waitingRequests[index](client.nextRequest()).encoded)
        host.core.broker.inputEnded(client.id, now: host.now)
        host.run()
        #expect(client.isClosed)
        let received = client.take()
        #expect(!received.isEmpty)
        #expect(received.allSatisfy { if case .error = $0 { false } else { true } }, "\(received)")
    }

    @Test func `frames that wait for their turn are processed first`() {
        let count = 20_000
        for _ in 0..<count { client.ping() }
        endInput()
        #expect(!client.isClosed)
        host.run()
        #expect(client.isClosed)
        #expect(client.take().count == count)
    }

    @Test func `a last frame without an answer is processed before the end`() {
        client.subscribe(1, ["a"], durable: "inbox")
        host.run()
        client.post("a", .stored)
        host.run()
        let sequence = host.lastSequence
        for _ in 0..<10_000 { client.acknowledge(1, sequence...sequence) }
        endInput()
        host.run()
        #expect(client.isClosed)
        #expect(host.durable("inbox")?.position == sequence)
    }

    @Test func `unread answers keep the connection open`() {
        client.stopTaking()
        client.ping()
        endInput()
        host.run()
        #expect(!client.isClosed)
        client.makeRoom()
        host.run()
        #expect(client.isClosed)
        #expect(client.take().count == 1)
    }

    @Test func `unprocessed bytes of connections whose input has ended are limited per user`() throws {
        var configuration = BrokerConfiguration()
        configuration.receivedBytesPerUser = 1 << 20
        let host = TestHost(configuration)
        let busy = host.connect()
        let ended = (0..<8).map { _ in host.connect() }
        var pings: [UInt8] = []
        for request in 1...20_000 as ClosedRange<UInt64> { pings += Ping(request: request).encoded }
        // This uses up the turn's budget, so that everything that is read later waits.
        busy.send(pings)
        for client in ended { client.endInput(after: pings) }
        #expect(host.amount(of: .receivedBytes, 1000) <= 1 << 20)
        #expect(!host.isClosing(ended[0]) && ended.dropFirst(3).allSatisfy { host.isClosing($0) })
        host.run()
        #expect(ended.allSatisfy { $0.isClosed })
        #expect(ended[0].take().count == 20_000)
        let errors = try #require(ended.last).takeErrors()
        #expect(errors.map(\.code) == [ErrorCode.limitReached.rawValue])
        #expect(errors.first?.message.contains("limits.per_user.received_bytes") == true)
    }

    @Test func `many peers that end together are closed in several turns`() {
        let other = host.connect(uid: 2000)
        let clients = (0..<1_500).map { _ in host.connect() }
        for client in clients { client.endInput() }
        other.ping()
        host.tick()
        let mostPerTurn = FlushBudget.unitsPerTurn / FairScheduler.Cost.close
        #expect((1...mostPerTurn).contains(clients.count { $0.isClosed }))
        #expect(other.take().count == 1)
        host.run()
        #expect(clients.allSatisfy { $0.isClosed })
        #expect(!other.isClosed)
    }
}
