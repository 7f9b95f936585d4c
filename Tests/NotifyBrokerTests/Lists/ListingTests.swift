import NotifyLog
import NotifyWire
import Testing
import WireTestSupport

@testable import NotifyBroker

/// Lists of clients, subscriptions and servers.
struct ListingTests {
    private func list(_ subject: ListSubject, _ client: Client, _ host: TestHost) -> [Received] {
        _ = client.take()
        let request = client.nextRequest()
        client.send(ListRequest(request: request, subject: subject))
        host.run()
        var answer = client.take()
        #expect(answer.popLast() == .listEnd(ListEnd(request: request)))
        return answer
    }

    private func clients(_ client: Client, _ host: TestHost) -> [ClientEntry] {
        list(.clients, client, host).compactMap { if case .clientEntry(let entry) = $0 { entry } else { nil } }
    }

    private func subscriptions(_ client: Client, _ host: TestHost) -> [SubscriptionEntry] {
        list(.subscriptions, client, host).compactMap { entry in
            if case .subscriptionEntry(let entry) = entry { entry } else { nil }
        }
    }

    // MARK: Clients

    @Test func `a client is listed with its identity and its counts`() {
        let host = TestHost()
        host.advance(.seconds(3))
        let (poster, reader) = (host.connect(pid: 10), host.connect(pid: 20))
        reader.subscribe(1, ["a"])
        reader.subscribe(2, ["a"], durable: "d")
        host.run()
        for _ in 0..<3 { poster.post("a", .stored) }
        poster.post("a", .volatile, receipt: false)
        poster.post("notifyd.x")
        host.run()
        reader.send(Dropped(subscription: 1, messages: 2))
        host.run()
        #expect(
            clients(poster, host) == [
                ClientEntry(
                    request: 6, client: 1, connectedMicroseconds: 1_700_000_003_000_000, uid: 1000, gid: 1000, pid: 10,
                    subscriptions: 0, posts: 4, refused: 1, delivered: 0, dropped: 0, droppedByClient: 0,
                    waitingBytes: 0),
                ClientEntry(
                    request: 6, client: 2, connectedMicroseconds: 1_700_000_003_000_000, uid: 1000, gid: 1000, pid: 20,
                    subscriptions: 2, posts: 0, refused: 0, delivered: 7, dropped: 0, droppedByClient: 2,
                    waitingBytes: 0),
            ])
    }

    @Test func `drops and waiting bytes belong to the client that does not read`() throws {
        var configuration = BrokerConfiguration()
        configuration.outboxBytesPerConnection = 4096
        let host = TestHost(configuration)
        let (poster, slow, fast) = (host.connect(pid: 1), host.connect(pid: 2), host.connect(pid: 3))
        for client in [slow, fast] { client.subscribe(1, ["a"]) }
        host.run()
        slow.stopTaking()
        for _ in 0..<100 {
            poster.post("a", payload: [UInt8](repeating: 0, count: 200), .volatile, receipt: false)
            host.run()
        }
        let listed = clients(poster, host)
        #expect(listed.map(\.delivered) == [0, 100, 100])
        #expect(listed.map { $0.dropped > 0 } == [false, true, false])
        #expect(listed.map(\.dropped).reduce(0, +) == host.counter("dropped"))
        #expect(listed.map { $0.waitingBytes > 0 } == [false, true, false])
        #expect(listed[1].waitingBytes <= 4096)
    }

    @Test func `a later connection in the same slot has a number and counts of its own`() {
        let host = TestHost()
        let (lister, first) = (host.connect(), host.connect())
        first.subscribe(1, ["a"])
        host.run()
        first.post("a")
        host.run()
        #expect(clients(lister, host).map(\.delivered) == [0, 1])
        host.closed(first)
        let second = host.connect()
        #expect(second.id.slot == first.id.slot)
        let entry = clients(lister, host).last
        #expect(entry?.client == 3 && entry?.posts == 0 && entry?.delivered == 0 && entry?.subscriptions == 0)
    }

    @Test func `a connection that is being closed is not listed`() {
        let host = TestHost()
        let (lister, failed) = (host.connect(), host.connect())
        failed.stopTaking()
        failed.send(Hello(instance: .next()))
        host.run()
        #expect(host.isClosing(failed))
        #expect(clients(lister, host).map(\.client) == [1])
    }

    // MARK: Subscriptions

    @Test func `volatile subscriptions are listed with their patterns and object`() {
        let host = TestHost()
        let client = host.connect(pid: 9)
        client.subscribe(5, ["b.*", "a", "c.>"], object: "shop")
        client.subscribe(4, ["a"])
        host.run()
        #expect(
            subscriptions(client, host) == [
                SubscriptionEntry(request: 3, uid: 1000, pid: 9, client: 1, patterns: ["a"]),
                SubscriptionEntry(
                    request: 3, uid: 1000, pid: 9, client: 1, object: "shop", patterns: ["a", "b.*", "c.>"]),
            ])
        client.detach(4)
        host.run()
        #expect(subscriptions(client, host).map(\.object) == ["shop"])
    }

    @Test func `a durable subscription is listed with its progress`() throws {
        let host = TestHost()
        let (poster, reader) = (host.connect(), host.connect(pid: 20))
        reader.subscribe(1, ["a"], durable: "d", window: 3)
        host.run()
        for _ in 0..<10 { poster.post("a", receipt: false) }
        host.run()
        let first = host.lastSequence - 9
        func entry() throws -> SubscriptionEntry {
            // Wait until the progress is in the log.
            host.advance(.seconds(1))
            host.run()
            return try #require(subscriptions(poster, host).first)
        }
        let full = try entry()
        #expect(full.durableName == "d" && full.client == 2 && full.pid == 20 && full.cursor == first - 1)
        #expect(full.unacknowledged == 3 && full.acknowledged == 0 && full.behind == 10)
        reader.acknowledge(1, first...first + 1)
        host.run()
        let half = try entry()
        #expect(half.cursor == first + 1)
        #expect(half.unacknowledged == 3 && half.acknowledged == 2 && half.behind == 8)
        for last in [first + 4, first + 7] {
            reader.acknowledge(1, first...last)
            host.run()
        }
        let live = try entry()
        #expect(live.unacknowledged == 2 && live.acknowledged == 8 && live.behind == 2)
        host.closed(reader)
        poster.post("a")
        host.run()
        let detached = try entry()
        #expect(detached.client == 0 && detached.pid == 0 && detached.cursor == first + 7)
        #expect(detached.unacknowledged == 0 && detached.acknowledged == 0 && detached.behind == 3)
    }

    @Test func `the list of durable subscriptions has no volatile ones`() {
        let host = TestHost()
        let client = host.connect()
        client.subscribe(1, ["a"])
        client.subscribe(2, ["a"], durable: "d")
        host.run()
        #expect(list(.durables, client, host).count == 1)
        #expect(list(.subscriptions, client, host).count == 2)
    }

    // MARK: Servers

    @Test func `servers follow the subscriptions of their client, with the requests that they hold`() {
        let host = TestHost()
        let (server, asker) = (host.connect(pid: 9), host.connect(pid: 10))
        server.serve(1, ["user.1000.b", "user.1000.a.*"], concurrency: 2)
        server.serve(2, ["user.1000.c"])
        server.subscribe(1, ["a"])
        asker.subscribe(1, ["b"])
        for _ in 0..<3 { asker.ask("user.1000.b") }
        host.run()
        #expect(
            subscriptions(server, host) == [
                SubscriptionEntry(request: 4, uid: 1000, pid: 9, client: 1, patterns: ["a"]),
                SubscriptionEntry(
                    request: 4, uid: 1000, pid: 9, client: 1, unacknowledged: 2, concurrency: 2,
                    patterns: ["user.1000.a.*", "user.1000.b"]),
                SubscriptionEntry(request: 4, uid: 1000, pid: 9, client: 1, concurrency: 1, patterns: ["user.1000.c"]),
                SubscriptionEntry(request: 4, uid: 1000, pid: 10, client: 2, patterns: ["b"]),
            ])
    }

    @Test func `a server that has ended is not listed, although it holds a request`() {
        let host = TestHost()
        let server = host.connect()
        server.serve(1, ["user.1000.b"])
        server.serve(2, ["user.1000.c"])
        server.ask("user.1000.b")
        server.endServing(1)
        host.run()
        #expect(subscriptions(server, host).map(\.patterns) == [["user.1000.c"]])
    }

    @Test func `a list of servers is answered in pieces, and skips those that end meanwhile`() {
        var configuration = BrokerConfiguration()
        configuration.answerBytesPerConnection = 4096
        let host = TestHost(configuration)
        let (lister, server) = (host.connect(), host.connect())
        for number in 1...1_000 as ClosedRange<UInt32> { server.serve(number, ["user.1000.\(number)"]) }
        host.run()
        lister.stopTaking()
        lister.send(ListRequest(request: lister.nextRequest(), subject: .subscriptions))
        host.run()
        for number in 1...999 as ClosedRange<UInt32> { server.endServing(number) }
        host.run()
        lister.makeRoom()
        host.run()
        let answer = lister.take()
        #expect(answer.count > 10 && answer.count < 500)
        #expect(answer.last == .listEnd(ListEnd(request: 1)))
        guard case .subscriptionEntry(let last)? = answer.dropLast().last else {
            Issue.record("the last entry is \(answer)")
            return
        }
        #expect(last.patterns == ["user.1000.1000"])
    }

    // MARK: Rights

    @Test(arguments: [ListSubject.clients, .subscriptions])
    func `only root lists clients and subscriptions of other users`(_ subject: ListSubject) {
        let host = TestHost()
        let (owner, stranger, root) = (host.connect(uid: 1000), host.connect(uid: 2000), host.connect(uid: 0))
        for client in [owner, stranger, root] {
            client.subscribe(1, ["a"])
            client.subscribe(2, ["b"], durable: "d")
        }
        for (uid, client) in [(1000, owner), (2000, stranger), (0, root)] { client.serve(1, ["user.\(uid).x"]) }
        host.run()
        func uids(_ client: Client) -> Set<UInt32> {
            let uids = list(subject, client, host).map { entry in
                switch entry {
                case .clientEntry(let entry): entry.uid
                case .subscriptionEntry(let entry): entry.uid
                default: UInt32.max
                }
            }
            return Set(uids)
        }
        #expect(uids(owner) == [1000] && uids(stranger) == [2000] && uids(root) == [0, 1000, 2000])
    }

    // MARK: Pieces

    @Test func `a list of 16,000 clients is answered in pieces`() {
        let host = TestHost()
        let (root, innocent) = (host.connect(uid: 0), host.connect(uid: 2000))
        for _ in 0..<16_000 { _ = host.connect(greets: false) }
        host.run()
        _ = root.take()
        root.send(ListRequest(request: root.nextRequest(), subject: .clients))
        for _ in 0..<2 {
            innocent.ping()
            host.tick()
            host.tick()
            #expect(innocent.take().count == 1)
        }
        let soFar = root.take().count
        #expect(soFar > 100 && soFar < 8_000)
        host.run()
        #expect(soFar + root.take().count == 16_003)
    }

    @Test func `connections of other users are skipped in pieces, too`() {
        let host = TestHost()
        let client = host.connect(uid: 2000)
        for _ in 0..<8_000 { _ = host.connect(greets: false) }
        host.run()
        for _ in 0..<10 { client.send(ListRequest(request: client.nextRequest(), subject: .clients)) }
        host.tick()
        let soFar = client.take().count
        #expect(soFar > 0 && soFar < 20)
        host.run()
        #expect(soFar + client.take().count == 20, "each list has the client itself and its end")
    }

    @Test func `a list waits until its answers are read, and ends if the listed connection is closed`() {
        var configuration = BrokerConfiguration()
        configuration.answerBytesPerConnection = 4096
        let host = TestHost(configuration)
        let (lister, subscriber) = (host.connect(), host.connect())
        for number in 1...1_000 as ClosedRange<UInt32> { subscriber.subscribe(number, ["a"]) }
        host.run()
        lister.stopTaking()
        lister.send(ListRequest(request: lister.nextRequest(), subject: .subscriptions))
        lister.ping()
        host.run()
        host.closed(subscriber)
        lister.makeRoom()
        host.run()
        let answer = lister.take()
        #expect(answer.count > 10 && answer.count < 500)
        #expect(answer.suffix(2) == [.listEnd(ListEnd(request: 1)), .pong(Pong(request: 2))])
    }
}
