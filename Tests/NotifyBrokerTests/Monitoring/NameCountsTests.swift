import NotifyCenter
import NotifyLog
import NotifyWire
import Testing
import WireTestSupport

@testable import NotifyBroker

/// Counts of posts by name.
struct NameCountsTests {
    private func names(_ client: Client, _ host: TestHost) -> [NameEntry] {
        _ = client.take()
        let request = client.nextRequest()
        client.send(ListRequest(request: request, subject: .names))
        host.run()
        return client.take().compactMap { if case .nameEntry(let entry) = $0 { entry } else { nil } }
    }

    @Test func `a name is listed with counts of its posts and its subscribers`() {
        let host = TestHost()
        let (client, reader) = (host.connect(), host.connect())
        reader.subscribe(1, ["a.>"])
        reader.subscribe(2, ["a.b"], durable: "d")
        client.post("a.b", payload: [1])
        #expect(names(client, host).isEmpty, "counting begins with the first request")
        client.post("a.b", object: "1", payload: [1, 2])
        client.post("a.b", object: "2", payload: [3])
        client.post("c", .volatile)
        client.post("notifyd.c")
        #expect(
            names(client, host) == [
                NameEntry(request: 7, posts: 2, payloadBytes: 3, dropped: 0, subscribers: 1, durables: 1, name: "a.b"),
                NameEntry(request: 7, posts: 1, payloadBytes: 0, dropped: 0, subscribers: 0, durables: 0, name: "c"),
            ])
    }

    /// Posts volatile messages of two names to a subscriber that reads nothing, and returns the names' counts.
    private func namesAfterOverflow(_ host: TestHost, _ policy: OverflowPolicy) -> [NameEntry] {
        let poster = host.connect()
        let slow = host.connect(Peer(uid: 1000, gid: 0, pid: 0), greeting: Hello(overflow: policy, instance: .next()))
        slow.subscribe(1, [">"])
        host.run()
        _ = names(poster, host)
        slow.stopTaking()
        for index in 0..<100 {
            let payload = [UInt8](repeating: 0, count: 200)
            poster.post(index.isMultiple(of: 2) ? "a" : "b", payload: payload, .volatile, receipt: false)
            host.run()
            // The time until outboxes may be reduced to the latest messages again.
            host.advance(.milliseconds(1))
        }
        return names(poster, host)
    }

    private func hostWithSmallOutboxes() -> TestHost {
        var configuration = BrokerConfiguration()
        configuration.outboxBytesPerConnection = 4096
        return TestHost(configuration)
    }

    @Test func `messages dropped from an outbox are counted under their name`() {
        let host = hostWithSmallOutboxes()
        let listed = namesAfterOverflow(host, .dropOldest)
        #expect(listed.map(\.name) == ["a", "b"])
        #expect(listed.allSatisfy { $0.dropped > 0 })
        #expect(listed.reduce(0) { $0 + $1.dropped } == host.counter("dropped"))
    }

    @Test func `messages replaced by later ones as requested are not counted under their name`() throws {
        let host = hostWithSmallOutboxes()
        let listed = namesAfterOverflow(host, .keepLatest)
        #expect(listed.map(\.name) == ["a", "b"])
        #expect(listed.allSatisfy { $0.dropped == 0 })
        #expect(try #require(host.counter("dropped")) > 0)
    }

    @Test func `names that a client may not receive are not listed`() {
        let host = TestHost(policy: AccessPolicy(rules: [AccessRule(.deny, [.subscribe], names: ["hr.>"], uids: [1])]))
        let (first, second) = (host.connect(uid: 1), host.connect(uid: 2))
        _ = names(first, host)
        for name in ["hr.pay", "user.2.a"] { second.post(name) }
        #expect(names(first, host).map(\.name) == [])
        #expect(names(second, host).map(\.name) == ["hr.pay", "user.2.a"])
    }

    @Test func `counting ends without requests`() {
        let host = TestHost()
        let client = host.connect()
        _ = names(client, host)
        client.post("a")
        host.advance(.seconds(9))
        #expect(names(client, host).count == 1)
        host.advance(.seconds(10))
        #expect(!host.recordsPosts && host.nextDeadline == nil)
        let bytes = host.core.broker.recorder.nameCounts.byteCount
        #expect(bytes == 0)
        #expect(names(client, host).isEmpty)
    }

    @Test(arguments: [-1, 0, 1])
    func `the names with the fewest posts make room for others`(_ excess: Int) {
        let host = TestHost()
        let client = host.connect()
        _ = names(client, host)
        let count = NameCounts.maximumNames + excess
        for index in 0..<count {
            for _ in 0..<(index < 10 ? 2 : 1) { client.post("n\(index)", .volatile, receipt: false) }
        }
        host.run()
        let counts = host.core.broker.recorder.nameCounts
        #expect(counts.entries.count == (excess <= 0 ? count : NameCounts.maximumNames / 2 + 1))
        let listed = names(client, host)
        #expect(listed.count == counts.entries.count && listed.contains { $0.name == "n\(count - 1)" })
        #expect((0..<10).allSatisfy { index in listed.contains { $0.name == "n\(index)" && $0.posts == 2 } })
        let bytes = counts.entries.reduce(0) { $0 + 128 + $1.name.utf8.count }
        #expect(counts.byteCount == bytes)
    }
}
