import NotifyLog
import NotifyWire
import Testing
import WireTestSupport

@testable import NotifyBroker

/// The limit of the names under which a user's messages are stored.
struct StoredNamesTests {
    private func host(limit: Int, store: FakeStore = FakeStore()) -> TestHost {
        var configuration = BrokerConfiguration()
        configuration.namesPerUser = limit
        return TestHost(configuration, store: store)
    }

    /// Posts a message to be stored under each name.
    ///
    /// - Returns: The number of stored messages.
    private func store(_ names: [String], by client: Client, _ host: TestHost) -> Int {
        for name in names { client.post(name, .stored) }
        host.run()
        let receipts = client.take().filter { if case .receipt = $0 { true } else { false } }
        return receipts.count
    }

    @Test func `a name above the limit is refused, and known names are not`() {
        let host = host(limit: 2)
        let client = host.connect(uid: 1000)
        #expect(store(["a", "b", "c", "a", "b"], by: client, host) == 4)
        #expect(store(["c"], by: host.connect(uid: 1001), host) == 1, "another user has a limit of its own")
    }

    @Test func `the names in the log count after a restart`() {
        let earlier = host(limit: 2)
        #expect(store(["a", "b"], by: earlier.connect(uid: 1000), earlier) == 2)
        let host = host(limit: 2, store: earlier.store)
        #expect(host.amount(of: .nameBytes, 1000) == earlier.amount(of: .nameBytes, 1000))
        #expect(store(["c", "b", "a"], by: host.connect(uid: 1000), host) == 2)
    }

    /// Makes a host whose client posts under a name that the store removes before it commits the post.
    private func hostWithRemoval(isInFlight: Bool) -> (TestHost, Client) {
        let host = host(limit: 2)
        let client = host.connect(uid: 1000)
        #expect(store(["a"], by: client, host) == 1)
        if !isInFlight {
            client.post("a", .stored)
            host.runTicks()
        }
        client.post("a", .stored)
        host.runTicks()
        var deletion = Deletion()
        deletion.names = [Array("a".utf8)]
        host.core.broker.deleted(deletion, now: host.now)
        return (host, client)
    }

    @Test(arguments: [false, true])
    func `a name that a pending post stores again still counts`(_ isInFlight: Bool) {
        let (host, client) = hostWithRemoval(isInFlight: isInFlight)
        let bytes = host.amount(of: .nameBytes, 1000)
        #expect(bytes > 0)
        host.run()
        _ = client.take()
        #expect(store(["b", "c"], by: client, host) == 1)
        #expect(host.amount(of: .nameBytes, 1000) == bytes * 2)
    }

    @Test func `a removed name no longer counts once its posts are committed`() {
        let (host, client) = hostWithRemoval(isInFlight: true)
        host.run()
        _ = client.take()
        var deletion = Deletion()
        deletion.names = [Array("a".utf8)]
        host.core.broker.deleted(deletion, now: host.now)
        #expect(host.amount(of: .nameBytes, 1000) == 0)
        #expect(store(["b", "c", "a"], by: client, host) == 2)
    }

    @Test func `the names of a replaced log no longer count`() {
        let host = host(limit: 2)
        let client = host.connect(uid: 1000)
        #expect(store(["a", "b"], by: client, host) == 2)
        let bytes = host.amount(of: .nameBytes, 1000)
        client.post("b", .stored)
        host.runTicks()
        // One message waits for the store.
        host.store.loseMessages()
        host.core.broker.logReplaced()
        #expect(host.amount(of: .nameBytes, 1000) == bytes / 2)
        #expect(store(["c", "a"], by: client, host) == 2, "the receipts are those of b and c")
        #expect(host.amount(of: .nameBytes, 1000) == bytes)
    }
}
