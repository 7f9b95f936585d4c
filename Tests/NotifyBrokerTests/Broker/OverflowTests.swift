import WireTestSupport
import NotifyLog
@testable import NotifyBroker
import NotifyWire
import Testing

/// Connections that do not read: drops, gaps and back-pressure.
struct OverflowTests {
    private func host(_ change: (inout BrokerConfiguration) -> Void = { _ in }) -> TestHost {
        var configuration = BrokerConfiguration()
        configuration.outboxBytesPerConnection = 4096
        change(&configuration)
        return TestHost(configuration)
    }

    private func subscriber(_ host: TestHost, _ overflow: OverflowPolicy, uid: UInt32 = 1000) -> Client {
        let client = host.connect(
            Peer(uid: uid, gid: 0, pid: 0), greeting: Hello(overflow: overflow, instance: .next()))
        client.subscribe(1, [">"])
        host.run()
        _ = client.take()
        client.stopTaking()
        return client
    }

    private func post(_ count: Int, _ host: TestHost, names: [String] = ["a"]) {
        let poster = host.connect()
        for index in 0..<count {
            poster.post(
                names[index % names.count], payload: [UInt8](repeating: 0, count: 200), .volatile, receipt: false)
            host.run()
        }
        host.closed(poster)
    }

    @Test func `the oldest messages are dropped and reported`() {
        let host = host()
        let client = subscriber(host, .dropOldest)
        let before = host.lastSequence
        post(100, host)
        #expect(host.amount(of: .outboxBytes, 1000) <= 4096)
        client.makeRoom()
        host.run()
        let received = client.take()
        guard case .gap(let gap)? = received.first else {
            Issue.record("no gap: \(received)")
            return
        }
        let sequences = received.dropFirst().compactMap {
            if case .message(let message) = $0 { message.sequence } else { nil }
        }
        #expect(sequences.count == received.count - 1, "there is one gap")
        #expect(gap.range.first == before + 1)
        #expect(gap.range.last + 1 == sequences.first)
        #expect(gap.dropped + UInt64(sequences.count) == 100)
        #expect(sequences.last == before + 100)
        #expect(host.counter("dropped") == gap.dropped)
        #expect((host.counter("gaps") ?? 0) > 0)
        #expect(host.amount(of: .outboxBytes, 1000) == 0)
    }

    @Test func `keepLatest keeps the latest message of each name`() {
        let host = host()
        let client = subscriber(host, .keepLatest)
        post(99, host, names: ["a", "b", "c"])
        client.makeRoom()
        host.run()
        let received = client.take()
        var latest: [String: UInt64] = [:]
        var delivered: UInt64 = 0
        var dropped: UInt64 = 0
        for one in received {
            switch one {
            case .message(let message):
                latest[message.name] = message.sequence
                delivered += 1
            case .gap(let gap): dropped += gap.dropped
            default: Issue.record("\(one)")
            }
        }
        let last = host.lastSequence
        #expect(latest == ["a": last - 2, "b": last - 1, "c": last])
        #expect(dropped + delivered == 99)
    }

    @Test func `keepLatest drops the oldest messages if there are too many names`() {
        let host = host()
        let client = subscriber(host, .keepLatest)
        post(100, host, names: (0..<100).map { "n\($0)" })
        client.makeRoom()
        host.run()
        let messages = client.takeMessages()
        #expect(messages.count >= 5 && messages.last?.name == "n99")
    }

    @Test func `a connection with the disconnect policy is closed on overflow`() {
        let host = host()
        let client = subscriber(host, .disconnect)
        post(100, host)
        #expect(!client.isClosed)
        client.makeRoom()
        host.run()
        let errors = client.takeErrors()
        #expect(errors.map(\.code) == [ErrorCode.tooSlow.rawValue])
        #expect(errors.first?.isFatal == true)
        #expect(client.isClosed)
        #expect(host.counter("subscriptions") == 0)
        #expect(host.holdsNothing(1000))
    }

    @Test func `a slow connection does not affect one that reads`() {
        let host = host()
        let slow = subscriber(host, .dropOldest)
        let fast = subscriber(host, .disconnect)
        fast.makeRoom()
        post(100, host)
        #expect(fast.takeMessages().count == 100)
        #expect(slow.inbox.isEmpty)
    }

    @Test func `by default 30 MiB wait for a connection, and further messages replace the oldest`() {
        let host = TestHost(BrokerConfiguration())
        let client = subscriber(host, .dropOldest)
        let poster = host.connect()
        let payload = [UInt8](repeating: 0, count: 16 << 10)
        for burst in 1...2 as ClosedRange<UInt64> {
            for _ in 0..<1900 { poster.post("a", payload: payload, .volatile, receipt: false) }
            host.run()
            #expect((host.connection(client).counters.dropped > 0) == (burst > 1))
        }
        client.makeRoom()
        host.run()
        let dropped = host.connection(client).counters.dropped
        #expect(client.takeMessages().count + Int(dropped) == 3800)
    }

    @Test func `outboxes with the policy 'keepLatest' are reduced at 4 MiB`() {
        let host = TestHost(BrokerConfiguration())
        let client = subscriber(host, .keepLatest)
        let poster = host.connect()
        for _ in 0..<300 {
            poster.post("a", payload: [UInt8](repeating: 0, count: 16 << 10), .volatile, receipt: false)
        }
        host.run()
        #expect(host.amount(of: .outboxBytes, 1000) < 4 << 20)
        client.makeRoom()
        host.run()
        #expect(client.takeMessages().last?.sequence == host.lastSequence)
    }

    @Test func `connections of a user share a limit`() {
        let host = host {
            $0.outboxBytesPerConnection = 1 << 20
            $0.outboxBytesPerUser = 8192
        }
        let clients = (0..<4).map { _ in subscriber(host, .dropOldest) }
        let stranger = subscriber(host, .dropOldest, uid: 2000)
        post(100, host)
        #expect(host.amount(of: .outboxBytes, 1000) <= 8192)
        #expect(host.amount(of: .outboxBytes, 2000) <= 8192 && host.amount(of: .outboxBytes, 2000) > 0)
        for client in clients + [stranger] { client.makeRoom() }
        host.run()
        for client in clients + [stranger] {
            let received = client.take()
            let told = received.reduce(UInt64(0)) {
                switch $1 {
                case .gap(let gap): $0 + gap.dropped
                case .message: $0 + 1
                default: $0
                }
            }
            #expect(told == 100)
        }
    }

    @Test func `answers and durable messages are never dropped`() {
        let host = host()
        let client = host.connect()
        client.subscribe(1, [">"])
        client.subscribe(2, [">"], durable: "all")
        host.run()
        _ = client.take()
        client.stopTaking()
        for _ in 0..<100 {
            client.post("a", payload: [UInt8](repeating: 0, count: 200), .stored)
            host.run()
        }
        client.makeRoom()
        host.run()
        let received = client.take()
        #expect(received.count { if case .receipt = $0 { true } else { false } } == 100)
        let durable = received.compactMap { if case .message(let one) = $0, one.subscription == 2 { one } else { nil } }
        #expect(durable.map(\.sequence) == host.store.messages.map(\.sequence))
        #expect(received.contains { if case .gap = $0 { true } else { false } })
    }

    // MARK: Back-pressure

    @Test func `reading from a connection pauses while its answers are unread`() {
        let host = host { $0.answerBytesPerConnection = 1000 }
        let client = host.connect()
        client.stopTaking()
        var sent = 0
        while client.isRead, sent < 1000 {
            client.ping()
            sent += 1
            host.run()
        }
        #expect(sent < 100)
        client.ping()
        host.run()
        client.makeRoom(700)
        host.run()
        #expect(client.isRead, "half of the answers are read")
        client.makeRoom()
        host.run()
        #expect(client.take().count == sent + 1, "requests sent meanwhile are answered too")
        #expect(!client.isClosed)
    }

    @Test func `unread stored messages do not stop acknowledgements or requests`() throws {
        let host = host { $0.answerBytesPerConnection = 1000 }
        let (poster, client) = (host.connect(), host.connect())
        client.subscribe(1, ["a"], durable: "inbox", window: 16_384)
        host.run()
        client.stopTaking()
        for _ in 0..<20 { poster.post("a", payload: [UInt8](repeating: 0, count: 1000), .stored) }
        host.run()
        #expect(host.core.broker.egress[client.id.slot].waitingBytes > 10_000)
        #expect(client.isRead)
        let sequences = host.store.messages.map(\.sequence)
        for sequence in sequences { client.acknowledge(1, sequence...sequence) }
        host.run()
        #expect(host.durable("inbox")?.position == sequences.last)
        client.ping()
        host.run()
        #expect(client.isRead)
        client.makeRoom()
        host.run()
        #expect(client.takeMessages().count == 20)
    }

    @Test func `frames without an answer are processed while answers are unread, up to the next request`() throws {
        let host = host { $0.answerBytesPerConnection = 1000 }
        let (poster, client) = (host.connect(), host.connect())
        client.subscribe(1, ["a"], durable: "inbox")
        host.run()
        for _ in 0..<3 { poster.post("a", .stored) }
        host.run()
        client.stopTaking()
        while !host.core.broker.areAnswersUnread(client.id.slot) {
            client.ping()
            host.run()
        }
        let sequences = host.store.messages.map(\.sequence)
        client.acknowledge(1, sequences[0]...sequences[0])
        host.run()
        #expect(host.durable("inbox")?.position == sequences[0])
        client.acknowledge(1, sequences[1]...sequences[1])
        client.ping()
        client.acknowledge(1, sequences[2]...sequences[2])
        host.run()
        #expect(host.durable("inbox")?.position == sequences[1])
        #expect(!client.isRead)
        client.makeRoom()
        host.run()
        #expect(host.durable("inbox")?.position == sequences[2])
        #expect(client.isRead)
    }

    @Test func `unread errors for frames without an answer pause reading, too`() {
        let host = host { $0.answerBytesPerConnection = 1000 }
        let client = host.connect()
        client.stopTaking()
        var sent = 0
        while client.isRead, sent < 1000 {
            client.acknowledge(9, 1...1)
            sent += 1
            host.run()
        }
        #expect(sent < 100)
        client.makeRoom()
        host.run()
        #expect(client.takeErrors().count == sent)
        #expect(client.isRead)
    }

    @Test func `reading from a poster pauses until the log has caught up`() {
        let host = host { $0.pendingLogBytes = 2000 }
        let (poster, other) = (host.connect(), host.connect())
        var sent = 0
        while poster.isRead, sent < 1000 {
            poster.post("a", payload: [UInt8](repeating: 0, count: 100), .stored)
            sent += 1
            host.tick()
        }
        #expect(sent < 50)
        other.post("a", .volatile)
        host.tick()
        #expect(other.take().count == 1, "volatile messages are still delivered")
        host.work()
        #expect(!poster.isRead)
        host.tick()
        #expect(poster.isRead)
        host.run()
        #expect(poster.take().count == sent)
    }

    @Test func `reading resumes once every reason to pause has ended`() {
        let host = host {
            $0.pendingLogBytes = 500
            $0.answerBytesPerConnection = 300
        }
        let client = host.connect()
        client.stopTaking()
        for _ in 0..<20 { client.ping() }
        for _ in 0..<10 { client.post("a", payload: [UInt8](repeating: 0, count: 100), .stored) }
        host.tick()
        #expect(!client.isRead)
        while host.work() { host.tick() }
        #expect(!client.isRead, "its answers are unread")
        client.makeRoom()
        host.run()
        #expect(client.isRead)
        #expect(client.take().count == 30)
    }

    @Test func `a connection that is closed while it is paused is forgotten`() {
        let host = host { $0.pendingLogBytes = 100 }
        let client = host.connect()
        for _ in 0..<10 { client.post("a", payload: [UInt8](repeating: 0, count: 100), .stored) }
        host.tick()
        #expect(!client.isRead)
        host.closed(client)
        let next = host.connect(Peer(uid: 5, gid: 5, pid: 5), greeting: nil)
        host.run()
        #expect(next.isRead)
        #expect(host.holdsNothing(1000))
    }
}
