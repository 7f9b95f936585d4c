import NotifyCenter
import NotifyLog
import NotifyWire
import Testing
import WireTestSupport

@testable import NotifyBroker

/// Warnings of the daemon for operators.
struct WarningsTests {
    private static func configuration(connections: Int = 10) -> BrokerConfiguration {
        var configuration = BrokerConfiguration()
        configuration.connectionsPerUser = connections
        return configuration
    }

    private func operatorClient(_ host: TestHost) -> Client {
        let client = host.connect(uid: 0)
        client.subscribe(1, ["notifyd.>"])
        host.run()
        _ = client.take()
        return client
    }

    /// Lets the next check run, and returns the warnings that it posted.
    private func check(_ host: TestHost, _ client: Client) -> [ReceivedMessage] {
        host.advance(Warnings.interval)
        host.run()
        return client.takeMessages()
    }

    @Test(arguments: [(7, false), (8, true), (10, true)])
    func `a limit of which 80% is in use causes a warning`(_ count: Int, _ isWarned: Bool) {
        let host = TestHost(Self.configuration())
        let root = operatorClient(host)
        for _ in 0..<count { _ = host.connect(uid: 1000) }
        let warnings = check(host, root)
        #expect(warnings.map(\.name) == (isWarned ? ["notifyd.limits.connections"] : []))
        guard isWarned, let warning = warnings.first else { return }
        #expect(warning.object == "1000")
        #expect(warning.text == #"{"resource":"connections","used":\#(count),"limit":10,"uid":1000}"#)
        #expect(warning.stamp.uid == 9 && warning.stamp.gid == 8 && warning.stamp.pid == 7)
        let share = count < 10 ? "80% of a limit" : "a limit is reached"
        #expect(host.warnings == ["\(share): user 1000 uses \(count) of 10 connections"])
    }

    @Test(arguments: [(79_999, 100, false), (80_000, 100, true), (1, 204 << 20, false), (1, 205 << 20, true)])
    func `messages that wait for redelivery cause a warning at 80% of a limit`(
        _ count: Int, _ bytes: UInt32, _ isWarned: Bool
    ) throws {
        let store = FakeStore()
        let before = TestHost(store: store)
        before.connect().subscribe(1, ["a"], durable: "d")
        before.run()
        let id = try #require(store.subscription(named: "d")?.id)
        store.otherRedeliveries = [
            id: (1...count).map { Redelivery(sequence: UInt64($0), delayMicroseconds: .max / 4, bytes: bytes) }
        ]
        let host = TestHost(store: store, at: .seconds(100))
        let root = operatorClient(host)
        root.ping()
        #expect(
            check(host, root).map { "\($0.name) \($0.object)" }
                == (isWarned ? ["notifyd.storage.redeliveries 1000.d"] : []))
    }

    @Test func `a warning about a limit of all users together has no object`() {
        var configuration = BrokerConfiguration()
        configuration.connections = 10
        let host = TestHost(configuration)
        let root = operatorClient(host)
        for uid in 1...7 { _ = host.connect(uid: UInt32(uid)) }
        let warnings = check(host, root)
        #expect(warnings.map(\.name) == ["notifyd.limits.connections"] && warnings.map(\.object) == [""])
    }

    @Test func `a warning is repeated only after its condition ended, and at most once a minute`() {
        let host = TestHost(Self.configuration())
        let root = operatorClient(host)
        var clients = (0..<8).map { _ in host.connect(uid: 1000) }
        #expect(check(host, root).count == 1)
        func reconnect(_ count: Int) {
            for client in clients { host.closed(client) }
            clients = (0..<count).map { _ in host.connect(uid: 1000) }
        }
        for count in [9, 7, 8] {
            reconnect(count)
            #expect(check(host, root).isEmpty, "the condition holds from 70%")
        }
        reconnect(6)
        #expect(check(host, root).isEmpty)
        reconnect(8)
        #expect(check(host, root).isEmpty, "a minute has not passed")
        host.advance(.seconds(60))
        root.ping()
        #expect(check(host, root).count == 1)
    }

    @Test func `users without the right to the daemon's names receive no warnings`() {
        let rules = [AccessRule(.allow, [.subscribe], names: ["notifyd.>"], uids: [1000])]
        let host = TestHost(Self.configuration(connections: 4), policy: AccessPolicy(rules: rules))
        let (wide, narrow) = (host.connect(uid: 1000), host.connect(uid: 1000))
        wide.subscribe(1, [">"])
        narrow.subscribe(1, ["notifyd.>"])
        host.run()
        #expect(wide.takeErrors().isEmpty && narrow.takeErrors().isEmpty)
        host.core.broker.policyChanged(to: AccessPolicy(generation: 9))
        for _ in 0..<2 { _ = host.connect(uid: 1000) }
        #expect(check(host, wide).isEmpty && narrow.takeMessages().isEmpty)
        #expect(host.warnings.count == 1)
    }

    @Test func `the condition of a warning ends when its user has no connections`() {
        let host = TestHost(Self.configuration())
        let root = operatorClient(host)
        let clients = (0..<8).map { _ in host.connect(uid: 1000) }
        #expect(check(host, root).count == 1)
        for client in clients { host.closed(client) }
        root.ping()
        #expect(check(host, root).isEmpty)
        host.advance(.seconds(60))
        for _ in 0..<8 { _ = host.connect(uid: 1000) }
        #expect(check(host, root).count == 1)
    }

    @Test func `subscriptions that are removed again cause one warning and leave no state`() {
        let host = TestHost()
        let root = operatorClient(host)
        root.post("a", .stored, receipt: false)
        for _ in 0..<100_000 { root.post("b", .volatile, receipt: false) }
        root.post("a", .stored, receipt: false)
        host.run()
        let client = host.connect(uid: 1000)
        var warnings = 0
        for index in 0..<20 {
            client.subscribe(UInt32(index + 1), ["x"], durable: "d\(index)", from: .oldest, credit: 0)
            client.detach(UInt32(index + 1))
            host.run()
            warnings += check(host, root).count
            client.remove("d\(index)")
            host.run()
        }
        #expect(warnings <= 1)
        host.advance(.seconds(60))
        client.ping()
        _ = check(host, root)
        let count = host.core.broker.warnings.count
        #expect(count == 0)
    }

    @Test func `a warning is stored for a durable subscription`() throws {
        let host = TestHost(Self.configuration())
        let root = host.connect(uid: 0)
        root.subscribe(1, ["notifyd.limits.>"], durable: "warnings")
        host.run()
        host.closed(root)
        for _ in 0..<8 { _ = host.connect(uid: 1000) }
        host.advance(Warnings.interval)
        host.run()
        let stored = try #require(host.store.messages.last)
        #expect(stored.name == Array("notifyd.limits.connections".utf8))
        let usage = host.core.broker.ledger.stored.usage(of: 9)
        #expect(usage.messages == 1 && usage.bytes > 0)
        let later = host.connect(uid: 0)
        later.subscribe(1, ["notifyd.limits.>"], durable: "warnings")
        host.run()
        #expect(later.takeMessages().map(\.sequence) == [stored.sequence])
    }

    @Test func `a durable subscription that is far behind causes a warning`() {
        let host = TestHost()
        let root = operatorClient(host)
        let client = host.connect(uid: 1000)
        client.subscribe(1, ["a"], durable: "slow", credit: 0)
        host.run()
        func warningsAfter(_ count: Int, _ name: String, _ durability: Durability) -> [ReceivedMessage] {
            for _ in 0..<count { client.post(name, durability, receipt: false) }
            host.run()
            var warnings = check(host, root)
            while host.warningDeadline != nil, warnings.isEmpty {
                host.run()
                warnings = check(host, root)
            }
            return warnings
        }
        #expect(warningsAfter(100_000, "b", .volatile).isEmpty, "messages of other names do not count")
        #expect(warningsAfter(99_999, "a", .automatic).isEmpty)
        host.advance(.seconds(10))
        let warnings = warningsAfter(1, "a", .automatic)
        #expect(warnings.map(\.name) == ["notifyd.storage.behind"] && warnings.map(\.object) == ["1000.slow"])
        #expect(warnings.first?.text.hasPrefix(#"{"durable":"slow","behind":100000"#) == true)
    }

    /// No warning is possible here, because the log does not count by objects.
    @Test func `messages that may have another object cause no warning about a durable subscription`() throws {
        let host = TestHost()
        let root = operatorClient(host)
        let client = host.connect(uid: 1000)
        client.subscribe(1, ["a"], object: "shop-1", durable: "slow", credit: 0)
        host.run()
        host.closed(client)
        let poster = host.connect(uid: 1000)
        for _ in 0..<100_000 { poster.post("a", object: "shop-2", .stored, receipt: false) }
        host.run()
        var warnings = check(host, root)
        while host.warningDeadline != nil {
            host.run()
            warnings += check(host, root)
        }
        #expect(warnings.map(\.name).filter { $0.hasPrefix("notifyd.storage") } == [])
        poster.send(ListRequest(request: poster.nextRequest()))
        host.run()
        let entry = poster.take().lazy.compactMap { event in
            if case .subscriptionEntry(let entry) = event { entry } else { nil }
        }.first
        #expect(entry?.behind == 100_000)
        #expect(entry?.isBehindUpperBound == true)
    }

    @Test func `a nearly full disk and a nearly full log cause warnings`() {
        let host = TestHost()
        let root = operatorClient(host)
        var statistics = StoreStatistics()
        statistics.disk = .init(freeBytes: 5 << 20, totalBytes: 1 << 30, isNearlyFull: true)
        (statistics.usedBytes, statistics.logByteLimit) = (80, 100)
        host.store.statistics = statistics
        root.post("a", .stored)
        host.run()
        _ = root.take()
        #expect(check(host, root).map(\.name) == ["notifyd.storage.disk", "notifyd.storage.log"])
        #expect(host.warnings.first == "the disk of the database is nearly full: 5 MiB are free")
    }

    @Test func `failing storage causes a warning with its reason`() {
        let host = TestHost()
        let root = operatorClient(host)
        root.post("a", .stored)
        host.tick()
        host.work(failingWith: StorageFailure(kind: .inputOutput, message: "broken \"disk\"\n"))
        host.tick()
        _ = root.take()
        host.advance(.milliseconds(999))
        host.tick()
        host.advance(.milliseconds(1))
        host.tick()
        let warnings = root.takeMessages()
        #expect(warnings.map(\.name) == ["notifyd.storage.failed"])
        #expect(warnings.first?.text == #"{"reason":"broken \"disk\"\#u{FFFD}"}"#)
    }

    @Test func `an idle daemon checks nothing`() {
        let host = TestHost()
        let client = host.connect()
        host.advance(Warnings.interval)
        host.run()
        #expect(host.warningDeadline == nil)
        client.ping()
        #expect(host.warningDeadline != nil)
    }

    @Test func `all users are checked, a limited number at a time`() {
        let host = TestHost(Self.configuration(connections: 1))
        let root = operatorClient(host)
        for uid in 1...600 { _ = host.connect(uid: UInt32(uid)) }
        var objects: [String] = []
        var checks = 0
        while host.warningDeadline != nil {
            objects += check(host, root).map(\.object)
            checks += 1
        }
        #expect(Set(objects).count == 601 && objects.count == 601 && checks == 3)
    }

    @Test func `a large backlog of a user causes a warning`() {
        let host = TestHost()
        let root = operatorClient(host)
        host.store.statistics.backlogLimit = 1000
        host.store.statistics.backlogs = [7: 799, 8: 800]
        root.post("a", .stored)
        host.run()
        let warnings = check(host, root)
        #expect(warnings.map(\.name) == ["notifyd.storage.backlog"])
        #expect(warnings.map(\.text) == [#"{"used":800,"limit":1000,"uid":8}"#])
    }

    @Test func `a failure of retention causes a warning, and refuses no post`() {
        let host = TestHost()
        let root = operatorClient(host)
        var deletion = Deletion()
        deletion.health = .failed(StorageFailure(kind: .inputOutput, message: "a broken disk"))
        host.core.broker.deleted(deletion, now: host.now)
        let warnings = check(host, root)
        #expect(warnings.map(\.name) == ["notifyd.storage.retention"])
        #expect(warnings.map(\.text) == [#"{"reason":"a broken disk"}"#])
        #expect(host.healthChanges.isEmpty)
    }
}
