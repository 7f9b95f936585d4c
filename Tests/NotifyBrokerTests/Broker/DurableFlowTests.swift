import WireTestSupport
import NotifyLog
@testable import NotifyBroker
import NotifyWire
import Testing

/// Windows, credit, acknowledgements and where durable messages are read from.
struct DurableFlowTests {
    /// A subscriber to `a` under the name inbox, with what came so far taken.
    private func subscriber(
        _ shell: Shell, window: UInt32 = 0, credit: UInt32 = Subscribe.unlimitedCredit
    ) -> Client {
        let client = shell.connect()
        client.subscribe(1, ["a"], durable: "inbox", window: window, credit: credit)
        shell.run()
        _ = client.take()
        return client
    }

    private func post(_ count: Int, _ shell: Shell, name: String = "a", size: Int = 0) {
        let poster = shell.connect()
        for _ in 0..<count { poster.post(name, payload: [UInt8](repeating: 1, count: size), .stored, receipt: false) }
        shell.run()
    }

    @Test(arguments: [1, 2, 3])
    func `the window bounds messages in flight`(_ window: UInt32) {
        let shell = Shell()
        let client = subscriber(shell, window: window)
        post(10, shell)
        let first = client.takeMessages().map(\.sequence)
        #expect(first.count == Int(window))
        client.acknowledge(1, first[0]...first[0])
        shell.run()
        #expect(client.takeMessages().count == 1)
        client.acknowledge(1, 0...(first.last ?? 0) + 1)
        shell.run()
        #expect(client.takeMessages().count == Int(window))
    }

    @Test func `the default window is configurable and the largest window bounded`() {
        var configuration = BrokerConfiguration()
        configuration.defaultWindow = 3
        let shell = Shell(configuration)
        let client = subscriber(shell)
        post(10, shell)
        #expect(client.takeMessages().count == 3)
        let other = shell.connect()
        other.subscribe(1, ["a"], durable: "a", window: Limits.maximumWindow)
        other.subscribe(2, ["a"], durable: "b", window: Limits.maximumWindow + 1)
        shell.run()
        let codes = other.take().compactMap { if case .error(let error) = $0 { error.code } else { nil } }
        #expect(codes == [ErrorCode.limitReached.rawValue])
    }

    @Test func `deliveries do not exceed the credit`() {
        let shell = Shell()
        let client = subscriber(shell, credit: 1)
        post(5, shell)
        let first = client.takeMessages()
        #expect(first.count == 1)
        client.acknowledge(1, 0...first[0].sequence)
        shell.run()
        #expect(client.takeMessages().isEmpty)
        client.send(Credit(subscription: 1, messages: 3))
        shell.run()
        #expect(client.takeMessages().count == 3)
        #expect(shell.store.statistics.pagesRead == 0, "the ring has it all")
    }

    @Test func `acknowledgements are persisted within 50 ms`() {
        let shell = Shell()
        let client = subscriber(shell)
        post(2, shell)
        let sequences = client.takeMessages().map(\.sequence)
        let batches = shell.store.batches.count
        client.acknowledge(1, sequences[0]...sequences[0])
        shell.run()
        #expect(shell.nextDeadline == .milliseconds(50))
        shell.advance(.milliseconds(30))
        client.acknowledge(1, sequences[1]...sequences[1])
        shell.run()
        #expect(shell.nextDeadline == .milliseconds(50), "later ones do not put it off")
        #expect(shell.store.batches.count == batches)
        shell.advance(.milliseconds(20))
        shell.run()
        #expect(shell.store.batches.count == batches + 1)
        #expect(shell.store.subscription(named: "inbox")?.progress.cursor == sequences[1])
        #expect(shell.nextDeadline == nil)
    }

    @Test func `acknowledgements join a batch that is due anyway`() {
        let shell = Shell()
        let client = subscriber(shell)
        post(1, shell)
        let sequence = client.takeMessages()[0].sequence
        client.acknowledge(1, sequence...sequence)
        post(1, shell, name: "other")
        #expect((shell.store.subscription(named: "inbox")?.progress.cursor ?? 0) >= sequence)
    }

    /// The loop must not be woken again and again while the store is at work on another batch.
    @Test func `no deadline is set while a batch is in flight`() {
        let shell = Shell()
        let client = subscriber(shell)
        post(1, shell)
        let sequence = client.takeMessages()[0].sequence
        shell.advance(.seconds(1))
        client.post("other", .stored)
        shell.tick()
        client.acknowledge(1, sequence...sequence)
        shell.tick()
        #expect(shell.nextDeadline == .seconds(11), "only the store's silence is waited for")
        shell.advance(.seconds(1))
        #expect(shell.nextDeadline == .seconds(11))
        shell.work()
        shell.run()
        #expect(shell.store.subscription(named: "inbox")?.progress.cursor == sequence)
    }

    @Test func `an undelivered message can't be acknowledged`() {
        let shell = Shell()
        let client = subscriber(shell, window: 1)
        post(2, shell)
        let sequence = client.takeMessages()[0].sequence
        client.acknowledge(1, sequence...(sequence + 1))
        client.acknowledge(1, 0...UInt64.max)
        client.acknowledge(2, 0...1)
        shell.run()
        let errors = client.takeErrors()
        #expect(errors.map(\.code) == [65, 65, 60])
        #expect(errors.map(\.subscription) == [1, 1, 0])
        client.acknowledge(1, sequence...sequence)
        shell.run()
        #expect(client.takeMessages().map(\.sequence) == [sequence + 1])
    }

    @Test func `invalid ranges are refused`() {
        let shell = Shell()
        let client = subscriber(shell)
        client.send(Acknowledge(subscription: 1, ranges: [SequenceRange(first: 5, last: 4)]))
        client.send(
            Acknowledge(
                subscription: 1, ranges: [SequenceRange](repeating: SequenceRange(first: 0, last: 0), count: 1025)))
        client.send(Acknowledge(subscription: 1, ranges: []))
        shell.run()
        #expect(client.takeErrors().map(\.code) == [25, 41])
    }

    // MARK: Ring and pages

    @Test func `a reader behind the ring reads pages and becomes live again`() {
        var configuration = BrokerConfiguration()
        configuration.tailRingBytes = 10_000
        let shell = Shell(configuration)
        shell.store.pageRows = 7
        let client = subscriber(shell, window: 10)
        for _ in 0..<20 { post(10, shell, size: 100) }
        let first = client.takeMessages()
        #expect(first.count == 10)
        #expect(shell.reader("inbox")?.isLive == false)
        var sequences = first.map(\.sequence)
        while let last = sequences.last, sequences.count < 200 {
            client.acknowledge(1, 0...last)
            shell.run()
            let more = client.takeMessages().map(\.sequence)
            if more.isEmpty { break }
            sequences += more
        }
        #expect(sequences == shell.store.messages.map(\.sequence))
        client.acknowledge(1, 0...(sequences.last ?? 0))
        shell.run()
        #expect(shell.reader("inbox")?.isLive == true)
        #expect(shell.store.statistics.pagesRead > 5)
        let pages = shell.store.statistics.pagesRead
        post(5, shell)
        #expect(client.takeMessages().count == 5)
        #expect(shell.store.statistics.pagesRead == pages)
    }

    @Test func `a reader slightly behind reads the ring`() {
        let shell = Shell()
        let client = subscriber(shell, window: 2)
        post(50, shell)
        var count = 0
        while let last = client.takeMessages().last?.sequence {
            count += 1
            client.acknowledge(1, 0...last)
            shell.run()
        }
        #expect(count == 25)
        #expect(shell.store.statistics.pagesRead == 0)
    }

    @Test func `a durable subscription whose socket is blocked holds a position only`() {
        var configuration = BrokerConfiguration()
        configuration.durableOutboxBytes = 1000
        configuration.tailRingBytes = 5000
        let shell = Shell(configuration)
        let client = subscriber(shell, window: 10_000)
        client.stopTaking()
        for _ in 0..<100 { post(10, shell, size: 100) }
        #expect(shell.amount(of: .outboxBytes, 1000) < 10_000)
        #expect(shell.reader("inbox")?.isLive == false)
        client.makeRoom()
        shell.run()
        #expect(client.takeMessages().map(\.sequence) == shell.store.messages.map(\.sequence))
        #expect(shell.reader("inbox")?.isLive == true)
        #expect(shell.amount(of: .outboxBytes, 1000) == 0)
    }

    @Test func `a page of an earlier attachment is discarded`() {
        var configuration = BrokerConfiguration()
        configuration.tailRingBytes = 0
        let shell = Shell(configuration)
        let first = subscriber(shell)
        first.detach(1)
        shell.run()
        post(3, shell)
        let (second, third) = (shell.connect(instance: .one), shell.connect(instance: .two))
        second.subscribe(1, ["a"], durable: "inbox")
        shell.tick()
        shell.work()
        shell.tick()
        guard case .page? = shell.store.jobs.last, let old = shell.store.perform() else {
            Issue.record("no page was asked for")
            return
        }
        shell.closed(second)
        third.subscribe(1, ["a"], durable: "inbox")
        shell.report(old)
        shell.run()
        shell.report(old)
        shell.run()
        let messages = third.takeMessages()
        #expect(messages.map(\.sequence) == shell.store.messages.map(\.sequence))
        #expect(messages.map(\.isRedelivery) == [false, false, false], "none was handed over")
        #expect(second.takeMessages().isEmpty)
    }

    /// However many readers are behind, a commit waits for one page at most.
    @Test func `one page is read at a time, and readers take turns`() {
        var configuration = BrokerConfiguration()
        configuration.tailRingBytes = 0
        let shell = Shell(configuration)
        shell.store.pageRows = 2
        post(10, shell)
        let clients = (0..<5).map { _ in shell.connect() }
        for (number, client) in clients.enumerated() {
            client.subscribe(1, ["a"], durable: "d\(number)", from: .oldest)
        }
        shell.tick()
        shell.work()
        shell.tick()
        #expect(shell.store.jobs.count == 1)
        clients[0].post("b", .stored)
        shell.tick()
        #expect(shell.store.jobs.count == 2)
        for _ in 0..<6 {
            shell.work()
            shell.tick()
            #expect(shell.store.jobs.count { if case .page = $0 { true } else { false } } <= 1)
        }
        #expect(clients.map { $0.takeMessages().count } == [2, 2, 2, 2, 2], "all got on by one page")
        shell.run()
        #expect(clients.allSatisfy { $0.takeMessages().count == 8 })
    }

    @Test func `the cursor of an idle reader passes messages that do not match`() {
        let shell = Shell()
        let client = subscriber(shell)
        post(20, shell, name: "other")
        client.detach(1)
        shell.run()
        #expect(shell.store.subscription(named: "inbox")?.progress.cursor == shell.store.persistedThrough)
    }

    @Test func `durable subscriptions of one connection have separate runs`() {
        let shell = Shell()
        let client = shell.connect()
        client.subscribe(1, ["a"], durable: "one")
        client.subscribe(2, [">"], durable: "two")
        client.subscribe(3, ["a"])
        shell.run()
        _ = client.take()
        for name in ["a", "b", "a"] { client.post(name, .stored, receipt: false) }
        shell.run()
        let messages = client.takeMessages()
        #expect(messages.filter { $0.subscription == 0 }.map(\.name) == ["a", "a"])
        #expect(messages.filter { $0.subscription == 1 }.map(\.name) == ["a", "a"])
        #expect(messages.filter { $0.subscription == 2 }.map(\.name) == ["a", "b", "a"])
    }
}
