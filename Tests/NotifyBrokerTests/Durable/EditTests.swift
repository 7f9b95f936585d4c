import NotifyCenter
import NotifyLog
import NotifyWire
import Testing
import WireTestSupport

@testable import NotifyBroker

/// Replacing the patterns of a durable subscription.
struct EditTests {
    /// Makes a host with a detached subscription "d" to `a` and `b`, and four messages that it has not received.
    private func host(_ configuration: BrokerConfiguration = BrokerConfiguration()) -> (host: TestHost, client: Client)
    {
        let host = TestHost(configuration)
        let client = host.connect()
        client.subscribe(1, ["a", "b"], durable: "d")
        client.detach(1)
        host.run()
        for name in ["a", "b", "c", "a"] { client.post(name, .stored) }
        host.run()
        _ = client.take()
        return (host, client)
    }

    private func edit(_ client: Client, _ patterns: [String], uid: UInt32 = Remove.ownUID) {
        client.send(Edit(request: client.nextRequest(), uid: uid, durableName: "d", patterns: patterns))
    }

    private func names(_ client: Client) -> [String] { client.takeMessages().map(\.name) }

    private func isEdited(_ client: Client) -> Bool {
        client.take().contains { if case .durableDescription = $0 { true } else { false } }
    }

    private func attach(_ client: Client, _ patterns: [String], _ host: TestHost) -> [String] {
        client.subscribe(1, patterns, durable: "d")
        host.run()
        return names(client)
    }

    @Test func `an edited subscription delivers the backlog that matches`() {
        let (host, client) = host()
        edit(client, ["b", "c", "b"])
        host.run()
        #expect(isEdited(client))
        #expect(attach(client, ["c", "b"], host) == ["b", "c"])
        for name in ["a", "c", "b"] { client.post(name) }
        host.run()
        #expect(names(client) == ["c", "b"])
        let restarted = TestHost(store: host.store)
        #expect(restarted.durable("d")?.filter.patterns.map(\.description) == ["b", "c"])
        #expect(attach(restarted.connect(), ["a", "b"], restarted).isEmpty, "the earlier patterns mismatch")
    }

    @Test func `an edit keeps the cursor, the acknowledged ranges and the generation`() throws {
        let (host, client) = host()
        #expect(attach(client, ["a", "b"], host) == ["a", "b", "a"])
        let sequences = host.store.messages.map(\.sequence)
        client.acknowledge(1, sequences[1]...sequences[1])
        edit(client, [">"])
        host.run()
        let error = try #require(client.takeErrors().first)
        #expect(error.code == 66 && error.subscription == 1 && error.detail == ErrorFrame.editedDetail)
        let record = try #require(host.store.subscription(named: "d"))
        #expect(record.progress.generation == 0 && record.progress.cursor < sequences[0])
        #expect(record.progress.acknowledged == [SequenceRange(first: sequences[1], last: sequences[1])])
        client.subscribe(1, [], durable: "d")
        host.run()
        let messages = client.takeMessages()
        #expect(messages.map(\.sequence) == [sequences[0], sequences[2], sequences[3]])
        #expect(messages.map(\.isRedelivery) == [true, true, true])
    }

    /// Makes a subscription to `a`, and the messages a, a, c and a. The second and the fourth one are acknowledged.
    private func hostWithRanges() -> (host: TestHost, sequences: [UInt64]) {
        let host = TestHost()
        let client = host.connect()
        client.subscribe(1, ["a"], durable: "d")
        host.run()
        for name in ["a", "a", "c", "a"] { client.post(name, .stored) }
        host.run()
        let sequences = host.store.messages.map(\.sequence)
        for index in [1, 3] { client.acknowledge(1, sequences[index]...sequences[index]) }
        host.closed(client)
        host.advance(.seconds(1))
        host.run()
        return (host, sequences)
    }

    @Test(arguments: [false, true])
    func `a message between acknowledged ones is delivered once it matches`(_ restarts: Bool) {
        let (first, sequences) = hostWithRanges()
        let host = restarts ? TestHost(store: first.store) : first
        let client = host.connect()
        edit(client, ["a", "c"])
        host.run()
        client.subscribe(1, [], durable: "d")
        host.run()
        #expect(client.takeMessages().map(\.sequence) == [sequences[0], sequences[2]])
    }

    @Test func `an edited subscription that an earlier version created gets acknowledged messages again`() {
        let (first, sequences) = hostWithRanges()
        first.store.forgetCreation(of: "d")
        let host = TestHost(store: first.store)
        let client = host.connect()
        edit(client, ["a", "c"])
        host.run()
        client.subscribe(1, [], durable: "d")
        host.run()
        let messages = client.takeMessages()
        #expect(messages.map(\.sequence) == sequences)
        #expect(messages.map(\.isRedelivery) == [true, true, true, true])
    }

    @Test func `until the commit, messages for both lists of patterns are kept`() {
        let (host, client) = host()
        edit(client, ["c"])
        host.tick()
        client.post("a")
        client.post("c")
        host.tick()
        host.work(failingWith: .full)
        host.advance(.seconds(10))
        host.run()
        #expect(client.takeErrors().contains { $0.code == ErrorCode.logFull.rawValue })
        #expect(host.durable("d")?.filter.patterns.map(\.description) == ["a", "b"])
        #expect(attach(client, [], host) == ["a", "b", "a", "a"])
        client.post("c")
        client.post("b")
        host.run()
        #expect(names(client) == ["b"])
    }

    @Test func `messages posted before the commit of an edit are delivered after it`() {
        let (host, client) = host()
        client.post("x", .stored)
        host.tick()
        // The edit and the attachment share the next batch. The message is in the one after it.
        edit(client, ["b", "c"])
        client.subscribe(1, [], durable: "d")
        host.work()
        host.tick()
        client.post("c")
        host.run()
        #expect(names(client) == ["b", "c", "c"])
    }

    @Test func `a client that names no patterns attaches to the existing subscription`() {
        let (host, client) = host()
        #expect(attach(client, [], host) == ["a", "b", "a"])
        client.subscribe(2, [], durable: "other")
        client.subscribe(3, [])
        host.run()
        #expect(
            client.takeErrors().map(\.code)
                == [ErrorCode.unknownSubscription.rawValue, ErrorCode.invalidPattern.rawValue])
    }

    @Test func `an edit to the same patterns changes nothing`() {
        let (host, client) = host()
        _ = attach(client, ["a", "b"], host)
        edit(client, ["b", "a", "a"])
        host.run()
        #expect(isEdited(client))
        #expect(host.durable("d")?.state == .attached)
    }

    @Test func `an edit to unusable patterns is refused`() {
        let (host, client) = host()
        edit(client, [])
        edit(client, ["a..b"])
        edit(client, (0...64).map { "p\($0)" })
        edit(client, ["user.7.x"])
        host.run()
        #expect(client.takeErrors().map(\.code) == [21, 21, 21, 40])
        #expect(host.durable("d")?.filter.patterns.map(\.description) == ["a", "b"])
        #expect(attach(client, ["a", "b"], host) == ["a", "b", "a"])
    }

    @Test func `an edit requires the owner's right to the patterns, not the manager's`() {
        let (host, client) = host()
        let root = host.connect(uid: 0)
        edit(root, ["user.7.x"], uid: 1000)
        edit(host.connect(uid: 2000), ["c"], uid: 1000)
        host.run()
        #expect(root.takeErrors().map(\.code) == [ErrorCode.forbidden.rawValue])
        edit(root, ["user.1000.x", "c"], uid: 1000)
        host.run()
        #expect(isEdited(root))
        #expect(attach(client, [], host) == ["c"])
    }

    @Test func `only the new patterns count towards the limits of the user`() {
        var configuration = BrokerConfiguration()
        configuration.patternOverlapPerUser = 80
        let (host, client) = host(configuration)
        _ = attach(client, ["a", "b"], host)
        edit(client, (0..<20).map { "*.\($0)" } + ["*.*", ">", "*.>", "x.>", "x.*"])
        host.run()
        #expect(client.takeErrors().map(\.code) == [ErrorCode.limitReached.rawValue])
        client.post("b")
        host.run()
        #expect(names(client) == ["b"], "the attached client receives by the earlier patterns")
        #expect(host.amount(of: .registrationBytes, 1000) == host.heldByDurables(.registrationBytes, 1000))
        for round in 0..<5 {
            edit(client, ["*.\(round)"])
            host.run()
            #expect(isEdited(client))
        }
        #expect(host.amount(of: .registrationBytes, 1000) == host.heldByDurables(.registrationBytes, 1000))
        #expect(host.amount(of: .durableBytes, 1000) == host.heldByDurables(.durableBytes, 1000))
    }
}
