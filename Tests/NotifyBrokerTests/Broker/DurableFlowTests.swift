import WireTestSupport
import NotifyLog
@testable import NotifyBroker
import NotifyWire
import Testing

/// Windows, credit, acknowledgements, and the sources of durable messages.
struct DurableFlowTests {
    /// Returns a client that is subscribed to `a` under the durable name `inbox`, without unread frames.
    private func subscriber(
        _ host: TestHost, window: UInt32 = 0, credit: UInt32 = Subscribe.unlimitedCredit
    ) -> Client {
        let client = host.connect()
        client.subscribe(1, ["a"], durable: "inbox", window: window, credit: credit)
        host.run()
        _ = client.take()
        return client
    }

    private func post(_ count: Int, _ host: TestHost, name: String = "a", size: Int = 0) {
        let poster = host.connect()
        for _ in 0..<count { poster.post(name, payload: [UInt8](repeating: 1, count: size), .stored, receipt: false) }
        host.run()
    }

    @Test(arguments: [1, 2, 3])
    func `the window bounds messages in flight`(_ window: UInt32) {
        let host = TestHost()
        let client = subscriber(host, window: window)
        post(10, host)
        let first = client.takeMessages().map(\.sequence)
        #expect(first.count == Int(window))
        client.acknowledge(1, first[0]...first[0])
        host.run()
        #expect(client.takeMessages().count == 1)
        client.acknowledge(1, 0...(first.last ?? 0) + 1)
        host.run()
        #expect(client.takeMessages().count == Int(window))
    }

    @Test func `the default window is configurable, and the largest window is bounded`() {
        var configuration = BrokerConfiguration()
        configuration.defaultWindow = 3
        let host = TestHost(configuration)
        let client = subscriber(host)
        post(10, host)
        #expect(client.takeMessages().count == 3)
        let other = host.connect()
        other.subscribe(1, ["a"], durable: "a", window: Limits.maximumWindow)
        other.subscribe(2, ["a"], durable: "b", window: Limits.maximumWindow + 1)
        host.run()
        let codes = other.take().compactMap { if case .error(let error) = $0 { error.code } else { nil } }
        #expect(codes == [ErrorCode.limitReached.rawValue])
    }

    @Test func `deliveries do not exceed the credit`() {
        let host = TestHost()
        let client = subscriber(host, credit: 1)
        post(5, host)
        let first = client.takeMessages()
        #expect(first.count == 1)
        client.acknowledge(1, 0...first[0].sequence)
        host.run()
        #expect(client.takeMessages().isEmpty)
        client.send(Credit(subscription: 1, messages: 3))
        host.run()
        #expect(client.takeMessages().count == 3)
        #expect(host.store.statistics.pagesRead == 0, "the ring holds all messages")
    }

    @Test func `acknowledgements are persisted within 50 ms`() {
        let host = TestHost()
        let client = subscriber(host)
        post(2, host)
        let sequences = client.takeMessages().map(\.sequence)
        let batches = host.store.batches.count
        client.acknowledge(1, sequences[0]...sequences[0])
        host.run()
        #expect(host.nextDeadline == .milliseconds(50))
        host.advance(.milliseconds(30))
        client.acknowledge(1, sequences[1]...sequences[1])
        host.run()
        #expect(host.nextDeadline == .milliseconds(50), "later acknowledgements do not defer it")
        #expect(host.store.batches.count == batches)
        host.advance(.milliseconds(20))
        host.run()
        #expect(host.store.batches.count == batches + 1)
        #expect(host.store.subscription(named: "inbox")?.progress.cursor == sequences[1])
        #expect(host.nextDeadline == nil)
    }

    @Test func `batches of posts persist acknowledgements only once they are due`() {
        let host = TestHost()
        let client = subscriber(host)
        post(1, host)
        let sequence = client.takeMessages()[0].sequence
        client.acknowledge(1, sequence...sequence)
        post(1, host, name: "other")
        #expect((host.store.subscription(named: "inbox")?.progress.cursor ?? 0) < sequence)
        host.advance(.milliseconds(50))
        host.run()
        #expect((host.store.subscription(named: "inbox")?.progress.cursor ?? 0) >= sequence)
    }

    /// The event loop must not be woken repeatedly while the store works on another batch.
    @Test func `acknowledgements set no deadline while a batch is in flight`() {
        let host = TestHost()
        let client = subscriber(host)
        post(1, host)
        let sequence = client.takeMessages()[0].sequence
        host.advance(.seconds(1))
        client.post("other", .stored)
        host.tick()
        client.acknowledge(1, sequence...sequence)
        host.tick()
        #expect(host.nextDeadline == .seconds(11), "the deadline is the store's time limit")
        host.advance(.seconds(1))
        #expect(host.nextDeadline == .seconds(11))
        host.work()
        host.run()
        #expect(host.store.subscription(named: "inbox")?.progress.cursor == sequence)
    }

    @Test func `an undelivered message can't be acknowledged`() {
        let host = TestHost()
        let client = subscriber(host, window: 1)
        post(2, host)
        let sequence = client.takeMessages()[0].sequence
        client.acknowledge(1, sequence...(sequence + 1))
        client.acknowledge(1, 0...UInt64.max)
        client.acknowledge(2, 0...1)
        host.run()
        let errors = client.takeErrors()
        #expect(errors.map(\.code) == [65, 65, 60])
        #expect(errors.map(\.subscription) == [1, 1, 0])
        client.acknowledge(1, sequence...sequence)
        host.run()
        #expect(client.takeMessages().map(\.sequence) == [sequence + 1])
    }

    @Test func `invalid ranges are refused`() {
        let host = TestHost()
        let client = subscriber(host)
        client.send(Acknowledge(subscription: 1, ranges: [SequenceRange(first: 5, last: 4)]))
        client.send(
            Acknowledge(
                subscription: 1, ranges: [SequenceRange](repeating: SequenceRange(first: 0, last: 0), count: 1025)))
        client.send(Acknowledge(subscription: 1, ranges: []))
        host.run()
        #expect(client.takeErrors().map(\.code) == [25, 41])
    }

    // MARK: Ring and pages

    @Test func `a reader behind the ring reads pages and becomes live again`() {
        var configuration = BrokerConfiguration()
        configuration.tailRingBytes = 10_000
        let host = TestHost(configuration)
        host.store.pageRows = 7
        let client = subscriber(host, window: 10)
        for _ in 0..<20 { post(10, host, size: 100) }
        let first = client.takeMessages()
        #expect(first.count == 10)
        #expect(host.reader("inbox")?.isLive == false)
        var sequences = first.map(\.sequence)
        while let last = sequences.last, sequences.count < 200 {
            client.acknowledge(1, 0...last)
            host.run()
            let more = client.takeMessages().map(\.sequence)
            if more.isEmpty { break }
            sequences += more
        }
        #expect(sequences == host.store.messages.map(\.sequence))
        client.acknowledge(1, 0...(sequences.last ?? 0))
        host.run()
        #expect(host.reader("inbox")?.isLive == true)
        #expect(host.store.statistics.pagesRead > 5)
        let pages = host.store.statistics.pagesRead
        post(5, host)
        #expect(client.takeMessages().count == 5)
        #expect(host.store.statistics.pagesRead == pages)
    }

    @Test func `a reader slightly behind reads the ring`() {
        let host = TestHost()
        let client = subscriber(host, window: 2)
        post(50, host)
        var count = 0
        while let last = client.takeMessages().last?.sequence {
            count += 1
            client.acknowledge(1, 0...last)
            host.run()
        }
        #expect(count == 25)
        #expect(host.store.statistics.pagesRead == 0)
    }

    @Test func `a durable subscription whose socket is blocked keeps only a position in memory`() {
        var configuration = BrokerConfiguration()
        configuration.durableOutboxBytes = 1000
        configuration.tailRingBytes = 5000
        let host = TestHost(configuration)
        let client = subscriber(host, window: 10_000)
        client.stopTaking()
        for _ in 0..<100 { post(10, host, size: 100) }
        #expect(host.amount(of: .outboxBytes, 1000) < 10_000)
        #expect(host.reader("inbox")?.isLive == false)
        client.makeRoom()
        host.run()
        #expect(client.takeMessages().map(\.sequence) == host.store.messages.map(\.sequence))
        #expect(host.reader("inbox")?.isLive == true)
        #expect(host.amount(of: .outboxBytes, 1000) == 0)
    }

    @Test func `a page of an earlier attachment is discarded`() {
        var configuration = BrokerConfiguration()
        configuration.tailRingBytes = 0
        let host = TestHost(configuration)
        let first = subscriber(host)
        first.detach(1)
        host.run()
        post(3, host)
        let (second, third) = (host.connect(instance: .one), host.connect(instance: .two))
        second.subscribe(1, ["a"], durable: "inbox")
        host.tick()
        host.work()
        host.tick()
        guard case .page? = host.store.jobs.last, let old = host.store.perform() else {
            Issue.record("no page was requested")
            return
        }
        host.closed(second)
        third.subscribe(1, ["a"], durable: "inbox")
        host.report(old)
        host.run()
        host.report(old)
        host.run()
        let messages = third.takeMessages()
        #expect(messages.map(\.sequence) == host.store.messages.map(\.sequence))
        #expect(messages.map(\.isRedelivery) == [false, false, false], "none was delivered before")
        #expect(second.takeMessages().isEmpty)
    }

    /// A commit waits for at most one page, however many readers are behind.
    @Test func `one page is read at a time, and readers take turns`() {
        var configuration = BrokerConfiguration()
        configuration.tailRingBytes = 0
        let host = TestHost(configuration)
        host.store.pageRows = 2
        post(10, host)
        let clients = (0..<5).map { _ in host.connect() }
        for (number, client) in clients.enumerated() {
            client.subscribe(1, ["a"], durable: "d\(number)", from: .oldest)
        }
        host.tick()
        host.work()
        host.tick()
        #expect(host.store.jobs.count == 1)
        clients[0].post("b", .stored)
        host.tick()
        #expect(host.store.jobs.count == 2)
        for _ in 0..<6 {
            host.work()
            host.tick()
            #expect(host.store.jobs.count { if case .page = $0 { true } else { false } } <= 1)
        }
        #expect(clients.map { $0.takeMessages().count } == [2, 2, 2, 2, 2], "each reader has progressed by one page")
        host.run()
        #expect(clients.allSatisfy { $0.takeMessages().count == 8 })
    }

    @Test func `the cursor of an idle reader passes messages that do not match`() {
        let host = TestHost()
        let client = subscriber(host)
        post(20, host, name: "other")
        client.detach(1)
        host.run()
        #expect(host.store.subscription(named: "inbox")?.progress.cursor == host.store.persistedThrough)
    }

    @Test func `durable subscriptions of one connection have separate runs`() {
        let host = TestHost()
        let client = host.connect()
        client.subscribe(1, ["a"], durable: "one")
        client.subscribe(2, [">"], durable: "two")
        client.subscribe(3, ["a"])
        host.run()
        _ = client.take()
        for name in ["a", "b", "a"] { client.post(name, .stored, receipt: false) }
        host.run()
        let messages = client.takeMessages()
        #expect(messages.filter { $0.subscription == 0 }.map(\.name) == ["a", "a"])
        #expect(messages.filter { $0.subscription == 1 }.map(\.name) == ["a", "a"])
        #expect(messages.filter { $0.subscription == 2 }.map(\.name) == ["a", "b", "a"])
    }
}
