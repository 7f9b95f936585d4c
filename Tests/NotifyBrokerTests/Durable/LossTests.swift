import NotifyLog
import NotifyWire
import Testing
import WireTestSupport

@testable import NotifyBroker

/// Messages that the store deletes before a durable subscription has acknowledged them.
struct LossTests {
    /// Makes a host with six stored messages, which the detached durable subscription "inbox" has not read. Returns the
    /// sequences of the messages.
    private func host() -> (TestHost, sequences: [UInt64]) {
        let host = TestHost()
        let client = host.connect()
        client.subscribe(1, ["a"], durable: "inbox")
        host.run()
        host.closed(client)
        let poster = host.connect()
        for _ in 0..<6 { poster.post("a", .stored) }
        host.run()
        return (host, host.store.messages.map(\.sequence))
    }

    private func attach(_ host: TestHost) -> (client: Client, gaps: [Gap], messages: [UInt64]) {
        let client = host.connect()
        client.subscribe(1, ["a"], durable: "inbox")
        host.run()
        let received = client.take()
        let gaps = received.compactMap { if case .gap(let gap) = $0 { gap } else { nil } }
        let messages = received.compactMap { if case .message(let message) = $0 { message.sequence } else { nil } }
        return (client, gaps, messages)
    }

    private func gap(_ sequences: ArraySlice<UInt64>, isUpperBound: Bool = false) -> Gap {
        Gap(
            reason: .deleted, isUpperBound: isUpperBound, subscription: 1, dropped: UInt64(sequences.count),
            range: SequenceRange(first: sequences[sequences.startIndex], last: sequences[sequences.endIndex - 1]))
    }

    @Test func `each attachment gets a gap for a loss until a later message is acknowledged`() {
        var (host, sequences) = host()
        host.core.broker.deleted(host.store.drop(sequences[0]...sequences[3], of: "inbox"), now: host.now)
        for restarts in [false, true] {
            if restarts { host = TestHost(store: host.store) }
            let (client, gaps, messages) = attach(host)
            #expect(gaps == [gap(sequences[..<4])])
            #expect(messages == Array(sequences[4...]))
            host.closed(client)
            host.run()
        }
        let client = attach(host).client
        client.acknowledge(1, sequences[4]...sequences[4])
        host.advance(.seconds(1))
        host.run()
        #expect(host.store.subscription(named: "inbox")?.loss == nil)
        host.closed(client)
        #expect(attach(host).gaps == [])
        host = TestHost(store: host.store)
        #expect(attach(host).gaps == [])
    }

    @Test func `an attached client gets a gap for deleted messages at once`() {
        let (host, sequences) = host()
        let client = host.connect()
        client.subscribe(1, ["a"], durable: "inbox", credit: 2)
        host.run()
        _ = client.take()
        host.core.broker.deleted(host.store.drop(sequences[1]...sequences[4], of: "inbox"), now: host.now)
        host.run()
        #expect(client.take() == [.gap(gap(sequences[1..<5], isUpperBound: true))], "one message was delivered")
        client.acknowledge(1, sequences[0]...sequences[1])
        host.advance(.seconds(1))
        host.run()
        #expect(host.store.subscription(named: "inbox")?.loss != nil, "nothing after the loss is acknowledged")
    }

    @Test func `messages that were delivered and then acknowledged are not lost`() {
        let (host, sequences) = host()
        let client = attach(host).client
        host.core.broker.deleted(host.store.drop(sequences[0]...sequences[5], of: "inbox"), now: host.now)
        host.run()
        #expect(client.take().isEmpty)
        client.acknowledge(1, sequences[0]...sequences[5])
        host.advance(.seconds(1))
        host.run()
        #expect(host.store.subscription(named: "inbox")?.loss == nil)
    }

    @Test func `a loss of messages that an earlier attachment received is an upper bound`() {
        var (host, sequences) = host()
        host.closed(attach(host).client)
        host.run()
        host = TestHost(store: host.store)
        host.core.broker.deleted(host.store.drop(sequences[0]...sequences[3], of: "inbox"), now: host.now)
        #expect(attach(host).gaps == [gap(sequences[..<4], isUpperBound: true)])
    }

    @Test func `damaged messages are skipped with a gap`() {
        var (host, sequences) = host()
        host = TestHost(store: host.store)
        host.store.damaged = [sequences[1], sequences[3]]
        let (client, gaps, messages) = attach(host)
        #expect(messages == [0, 2, 4, 5].map { sequences[$0] })
        let range = SequenceRange(first: sequences[1], last: sequences[3])
        #expect(gaps == [Gap(reason: .damaged, isUpperBound: true, subscription: 1, dropped: 2, range: range)])
        #expect(host.counter("damaged_messages") == 2)
        host.closed(client)
        let (again, sameGaps, _) = attach(host)
        #expect(sameGaps == gaps && host.counter("damaged_messages") == 2, "the same messages are read again")
        again.acknowledge(1, sequences[0]...sequences[5])
        host.advance(.seconds(1))
        host.run()
        #expect(host.store.subscription(named: "inbox")?.progress.cursor == sequences[5])
    }

    @Test func `the daemon logs the first loss at once, and later losses together after a minute`() {
        let (host, sequences) = host()
        for sequence in sequences {
            host.core.broker.deleted(host.store.drop(sequence...sequence, of: "inbox"), now: host.now)
        }
        host.run()
        let (first, last) = (sequences[0], sequences[5])
        let text = "durable subscription 'inbox' of user 1000 lost "
        let reason = "the retention rules deleted them"
        #expect(host.warnings == [text + "1 messages (\(first) to \(first)): \(reason)"])
        host.advance(.seconds(60))
        host.run()
        #expect(host.warnings.dropFirst() == [text + "5 more messages (\(sequences[1]) to \(last)): \(reason)"])
    }

    @Test func `ten subscriptions with losses are named in a second, and the others are counted`() {
        let host = TestHost()
        let client = host.connect()
        for number in UInt32(1)...13 { client.subscribe(number, ["a"], durable: "d\(number)", credit: 0) }
        host.run()
        var deletion = Deletion()
        for durable in host.durables {
            deletion.losses[durable.id] = Loss(first: 1, last: 1, count: 1, isUpperBound: false)
        }
        host.core.broker.deleted(deletion, now: host.now)
        host.advance(.seconds(1))
        host.run()
        #expect(host.warnings.count == 11)
        #expect(host.warnings.last?.hasPrefix("3 more durable subscriptions have lost messages") == true)
        host.core.broker.deleted(deletion, now: host.now)
        host.drain()
        host.run()
        #expect(host.warnings.count == 11 + 13, "all subscriptions are named, at the latest when the daemon stops")
    }

    @Test func `deleted messages and names are no longer charged`() throws {
        let (host, sequences) = host()
        let nameBytes = host.amount(of: .nameBytes, 1000)
        #expect(nameBytes > 0)
        var deletion = host.store.drop(sequences[0]...sequences[5], of: "inbox")
        deletion.names = [Array("a".utf8), Array("never stored".utf8)]
        host.core.broker.deleted(deletion, now: host.now)
        #expect(host.core.broker.ledger.stored.usage(of: 1000) == StoredUsage())
        #expect(host.counter("deleted_messages") == 6)
        #expect(host.amount(of: .nameBytes, 1000) == 0)
        let poster = host.connect()
        poster.post("a", .stored)
        host.run()
        #expect(host.amount(of: .nameBytes, 1000) == nameBytes)
    }

    @Test func `a subscription without a client skips messages that retention moved its cursor past`() throws {
        let (host, sequences) = host()
        let id = try #require(host.store.subscription(named: "inbox")?.id)
        var deletion = Deletion()
        deletion.losses[id] = Loss(first: sequences[0], last: sequences[3], count: 4, isUpperBound: false)
        deletion.released[id] = sequences[3]
        host.core.broker.deleted(deletion, now: host.now)
        host.run()
        #expect(host.durable("inbox")?.position == sequences[3])
        let (_, gaps, messages) = attach(host)
        #expect(gaps == [gap(sequences[..<4])])
        #expect(messages == Array(sequences[4...]))
    }

    @Test func `messages that retention moved the cursor past are skipped, and later ones are delivered`() {
        let (host, sequences) = host()
        let client = host.connect()
        client.subscribe(1, ["a"], durable: "inbox", credit: 2)
        host.run()
        _ = client.take()
        var deletion = Deletion()
        let loss = Loss(first: sequences[0], last: sequences[3], count: 4, isUpperBound: false)
        guard let id = host.store.subscription(named: "inbox")?.id else {
            Issue.record("no subscription")
            return
        }
        deletion.losses[id] = loss
        deletion.released[id] = sequences[3]
        host.core.broker.deleted(deletion, now: host.now)
        host.run()
        #expect(host.warnings.last?.hasSuffix("the unread messages of its user exceed log.max_backlog") == true)
        #expect(client.take() == [.gap(gap(sequences[..<4], isUpperBound: true))], "two messages were delivered")
        #expect(host.warnings.last?.contains("lost at most 4 messages") == true)
        client.acknowledge(1, sequences[0]...sequences[1])
        client.send(Credit(subscription: 1, messages: 2))
        host.run()
        #expect(client.takeMessages().map(\.sequence) == Array(sequences[4...]))
        #expect(client.take().isEmpty)
        host.closed(client)
        let (again, gaps, messages) = attach(host)
        #expect(gaps == [gap(sequences[..<4], isUpperBound: true)], "nothing after the loss was acknowledged")
        #expect(messages == Array(sequences[4...]))
        again.acknowledge(1, sequences[4]...sequences[4])
        host.closed(again)
        #expect(attach(host).gaps == [])
    }

    @Test func `an expired subscription is removed unless a client is attached`() {
        let (host, _) = host()
        var deletion = Deletion()
        guard let id = host.store.subscription(named: "inbox")?.id else {
            Issue.record("no subscription")
            return
        }
        deletion.expired = [id, DurableID(99)]
        let client = attach(host).client
        host.core.broker.deleted(deletion, now: host.now)
        host.run()
        #expect(host.store.subscription(named: "inbox") != nil)
        host.closed(client)
        host.run()
        host.core.broker.deleted(deletion, now: host.now)
        host.core.broker.deleted(deletion, now: host.now)
        host.run()
        #expect(host.store.subscription(named: "inbox") == nil)
        #expect(host.counter("durable_subscriptions") == 0)
        #expect(host.warnings.filter { $0.contains("log.expire_subscriptions") }.count == 1)
    }
}
