import NotifyLog
import NotifyWire
import Testing
import WireTestSupport

@testable import NotifyBroker

/// The limit of the bytes that a user's messages may take in the log.
struct StoredBytesTests {
    /// The size of a message under the name "a" with `payload` bytes.
    private func size(_ payload: Int) -> Int { 44 + 1 + payload }

    private func configuration(_ limit: Int?) -> BrokerConfiguration {
        var configuration = BrokerConfiguration()
        configuration.userLimits.general.storedBytes = limit.map { UInt64($0) }
        return configuration
    }

    private func payload(_ bytes: Int) -> [UInt8] { Array(repeating: 0, count: bytes) }

    private func outcomes(_ client: Client) -> (stored: Int, refused: [String]) {
        var (stored, refused): (Int, [String]) = (0, [])
        for frame in client.take() {
            switch frame {
            case .receipt(let receipt): stored += receipt.durability == .volatile ? 0 : 1
            case .error(let error): refused.append(error.message)
            default: break
            }
        }
        return (stored, refused)
    }

    private func stored(_ host: TestHost, _ uid: UInt32 = 1000) -> StoredUsage {
        host.core.broker.ledger.stored.usage(of: uid)
    }

    @Test(arguments: [(-1, 1), (0, 2), (1, 2)])
    func `a message that exceeds the limit by a byte is refused`(spare: Int, expected: Int) {
        let host = TestHost(configuration(size(10) + size(20) + spare))
        let client = host.connect(uid: 1000)
        client.post("a", payload: payload(10), .stored)
        client.post("a", payload: payload(20), .stored)
        host.run()
        let (stored, refused) = outcomes(client)
        #expect(stored == expected && refused.count == 2 - expected)
        client.post("a", payload: payload(0), .stored)
        host.run()
        #expect(outcomes(client).stored == (expected == 1 ? 1 : 0))
    }

    @Test func `the error names the limit and the figures`() {
        let host = TestHost(configuration(3 << 19))
        let client = host.connect(uid: 1000)
        client.post("a", payload: payload(1 << 20), .stored)
        client.post("a", payload: payload(1 << 20), .stored)
        host.run()
        #expect(
            outcomes(client).refused == [
                "user 1000 stores 1MiB: a message of \(size(1 << 20)) bytes would exceed the limit of 1.5MiB "
                    + "(limits.per_user.stored_bytes). Start the subscribers that are behind: messages that are read are "
                    + "deleted after history_age (log.retention). Root can delete messages with 'notifyctl purge', or "
                    + "raise the limit"
            ])
    }

    @Test func `name, object and headers count toward the limit, and volatile posts do not`() {
        let host = TestHost(configuration(nil))
        let client = host.connect(uid: 1000)
        client.post("a.bc", object: "ob", payload: payload(7), .stored)
        client.post("a.bc", payload: payload(1000), .volatile)
        client.post("a.bc", payload: payload(1000), .automatic)
        host.run()
        #expect(stored(host) == StoredUsage(messages: 1, bytes: 44 + 4 + 2 + 7))
        client.subscribe(1, [">"], durable: "inbox")
        client.post("a.bc", payload: payload(3), .automatic)
        host.run()
        #expect(stored(host) == StoredUsage(messages: 2, bytes: 2 * 48 + 2 + 7 + 3))
    }

    @Test func `at the limit, only posts to be stored are refused and other users are not affected`() {
        let host = TestHost(configuration(size(0)))
        let (full, other) = (host.connect(uid: 1000), host.connect(uid: 1001))
        full.post("a", .stored)
        host.run()
        _ = full.take()
        for durability in [Durability.stored, .synced, .volatile, .automatic] { full.post("a", durability) }
        other.post("a", .stored)
        host.run()
        let receipts = full.take().count { if case .receipt = $0 { true } else { false } }
        #expect(receipts == 2)
        #expect(outcomes(other).stored == 1)
    }

    @Test func `messages that wait for the store count, and are subtracted if the store fails`() {
        let host = TestHost(configuration(2 * size(0)))
        let (one, two) = (host.connect(uid: 1000), host.connect(uid: 1000))
        one.post("a", .stored)
        host.runTicks()
        two.post("a", .stored)
        two.post("a", .stored)
        host.runTicks()
        #expect(outcomes(two).refused.count == 1)
        #expect(stored(host) == StoredUsage(messages: 2, bytes: 2 * size(0)))
        host.work(failingWith: StorageFailure(kind: .inputOutput, message: "broken"))
        #expect(stored(host) == StoredUsage(messages: 1, bytes: size(0)))
        host.advance(.seconds(2))
        host.run()
        #expect(outcomes(one).refused.count == 1)
        #expect(outcomes(two).stored == 1)
        one.post("a", .stored)
        host.run()
        #expect(outcomes(one).stored == 1)
    }

    @Test(arguments: [true, false]) func `stored messages count after a restart`(isClean: Bool) {
        let store = FakeStore()
        var host = TestHost(configuration(2 * size(0)), store: store)
        var client = host.connect(uid: 1000)
        client.post("a", .stored)
        host.run()
        if isClean { store.close(nextSequence: host.nextSequence) }
        host = TestHost(configuration(2 * size(0)), store: store)
        client = host.connect(uid: 1000)
        for _ in 0..<2 { client.post("a", .stored) }
        host.run()
        let (stored, refused) = outcomes(client)
        #expect(stored == 1 && refused.count == 1)
    }

    @Test func `a reload changes the limit`() {
        let host = TestHost(configuration(nil))
        let client = host.connect(uid: 1000, groups: [50])
        func stores() -> Bool {
            client.post("a", .stored)
            host.run()
            return outcomes(client).stored == 1
        }
        func reload(_ limit: Int, _ change: (inout BrokerConfiguration) -> Void = { _ in }) {
            var new = configuration(limit)
            change(&new)
            host.core.broker.configurationChanged(to: new)
        }
        #expect(stores())
        reload(size(0))
        #expect(!stores())
        reload(2 * size(0))
        #expect(stores())
        #expect(!stores())
        reload(0) {
            var group = UserLimitRules.Exception(uids: [], gids: [50])
            group.storedBytes = .limit(UInt64(3 * size(0)))
            $0.userLimits.exceptions = [group]
        }
        #expect(stores())
        #expect(!stores())
    }

    @Test func `the messages of a replaced log no longer count`() {
        let host = TestHost(configuration(3 * size(0)))
        let client = host.connect(uid: 1000)
        for _ in 0..<2 { client.post("a", .stored) }
        host.run()
        client.post("a", .stored)
        host.runTicks()
        // One message waits for the store.
        host.store.loseMessages()
        host.core.broker.logReplaced()
        #expect(stored(host) == StoredUsage(messages: 1, bytes: size(0)))
        host.run()
        #expect(stored(host) == StoredUsage(messages: 1, bytes: size(0)))
        #expect(outcomes(client).stored == 3)
    }

    @Test func `the limits request reports users that are not connected`() {
        let host = TestHost(configuration(5000))
        let poster = host.connect(uid: 1000)
        for _ in 0..<3 { poster.post("a", .stored) }
        host.run()
        host.closed(poster)
        func counters(of client: Client) -> [String: UInt64] {
            client.send(LimitsRequest(request: client.nextRequest()))
            host.run()
            let reports = client.take().compactMap {
                if case .statistics(let report) = $0 { report.counters } else { nil }
            }
            return Dictionary(uniqueKeysWithValues: reports.joined().map { ($0.name, $0.value) })
        }
        let found = counters(of: host.connect(uid: 0))
        #expect(found["user.1000.stored_bytes"] == UInt64(3 * size(0)))
        #expect(found["user.1000.stored_bytes.limit"] == 5000)
        #expect(found["user.1000.stored_messages"] == 3)
        #expect(found["user.1000.connections"] == 0)
        let other = counters(of: host.connect(uid: 1001))
        #expect(other["user.1000.stored_bytes"] == nil && other["user.1001.stored_bytes"] == 0)
    }
}
