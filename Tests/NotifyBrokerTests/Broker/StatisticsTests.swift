import WireTestSupport
import NotifyLog
@testable import NotifyBroker
import NotifyWire
import Testing

struct StatisticsTests {
    @Test func `counters match the events`() {
        let host = TestHost()
        let client = host.connect(instance: .one)
        client.subscribe(1, ["a"])
        client.subscribe(2, ["a"], durable: "inbox")
        host.run()
        for _ in 0..<3 { client.post("a", .stored) }
        client.post("b", .volatile)
        host.run()
        host.advance(.milliseconds(2500))
        let next = host.connect(instance: .one)
        next.subscribe(1, ["a"], durable: "inbox")
        host.run()
        _ = next.take()
        next.send(StatisticsRequest(request: next.nextRequest()))
        host.run()
        guard case .statistics(let report)? = next.take().first else {
            Issue.record("no report")
            return
        }
        let counters = Dictionary(uniqueKeysWithValues: report.counters.map { ($0.name, $0.value) })
        #expect(
            report.counters.map(\.name) == [
                "uptime_seconds", "connections", "subscriptions", "durable_subscriptions", "servers", "messages_in",
                "requests", "open_requests", "announcements", "unstored_wills", "delivered", "stored", "commits",
                "syncs", "pages_read", "redelivered",
                "dropped", "dropped_by_clients", "gaps",
                "forbidden", "dead_letters", "deleted_messages", "damaged_messages", "first_damaged_sequence",
                "last_damaged_sequence",
                "storage_works", "log_messages", "log_bytes", "wal_bytes", "memory_bytes", "memory_limit_bytes",
                "socket_bytes",
            ])
        #expect(counters["uptime_seconds"] == 2)
        #expect(counters["connections"] == 2)
        #expect(counters["subscriptions"] == 2)
        #expect(counters["durable_subscriptions"] == 1)
        #expect(counters["messages_in"] == 4)
        #expect(counters["delivered"] == 9, "three volatile, three durable and three redelivered")
        #expect(counters["stored"] == 3)
        #expect(counters["redelivered"] == 3)
        #expect(counters["storage_works"] == 1)
        #expect(counters["log_messages"] == 3)
        #expect(counters["commits"] == host.store.statistics.commits)
        #expect(counters["dropped"] == 0 && counters["gaps"] == 0)
    }

    @Test func `a user sees its own limits, and root sees the limits of all users`() throws {
        let host = TestHost()
        let (own, other, root) = (host.connect(uid: 7), host.connect(uid: 8), host.connect(uid: 0))
        own.subscribe(1, ["a"])
        other.subscribe(1, ["a"])
        host.run()
        (host.store.statistics.usedBytes, host.store.statistics.logByteLimit) = (8, 100)
        root.post("x", .stored)
        host.run()
        func report(_ client: Client) throws -> [String: UInt64] {
            _ = client.take()
            client.send(LimitsRequest(request: client.nextRequest()))
            host.run()
            guard case .statistics(let report)? = client.take().first else {
                Issue.record("no report")
                return [:]
            }
            return Dictionary(uniqueKeysWithValues: report.counters.map { ($0.name, $0.value) })
        }
        let ownReport = try report(own)
        #expect(ownReport["user.7.subscriptions"] == 1 && ownReport["user.7.subscriptions.limit"] == 100_000)
        #expect(ownReport.keys.allSatisfy { !$0.hasPrefix("user.8.") })
        let held = try #require(ownReport["user.7.memory_bytes"])
        #expect(held == ["connection_bytes", "subscription_bytes"].reduce(0) { $0 + (ownReport["user.7.\($1)"] ?? 0) })
        let rootReport = try report(root)
        #expect(rootReport["user.7.subscriptions"] == 1 && rootReport["user.8.subscriptions"] == 1)
        #expect(rootReport["connections"] == 3 && rootReport["connections.limit"] == 32_768)
        #expect(rootReport["memory_bytes.limit"] == 1 << 30)
        #expect(rootReport["log_used_bytes"] == 8 && rootReport["log_used_bytes.limit"] == 100)
        #expect(rootReport["log_bytes"] == nil, "the size of the file is a counter of the statistics")
    }

    @Test(arguments: [(999, nil), (1_000, nil), (1_001, 1)] as [(UInt32, UInt64?)])
    func `a report of limits has at most 1,000 users, and the number of the others`(users: UInt32, others: UInt64?) {
        let host = TestHost()
        let counters = host.core.broker.limits(of: Array(1...users), now: host.now)
        #expect(counters.count { $0.name.hasSuffix(".subscriptions") } == min(users, 1_000))
        #expect(counters.first { $0.name == "unlisted_users" }?.value == others)
        #expect(counters.count <= UInt16.max)
    }

    @Test func `drops reported by clients are counted`() {
        let host = TestHost()
        let client = host.connect()
        client.subscribe(1, ["a"])
        for _ in 0..<5 { client.post("a", .volatile) }
        host.run()
        client.send(Dropped(subscription: 1, messages: 3))
        client.send(Dropped(subscription: 1, messages: 1))
        host.run()
        #expect(client.takeErrors() == [])
        #expect(host.counter("dropped_by_clients") == 4)
        client.send(Dropped(subscription: 2, messages: 1))
        host.run()
        #expect(client.takeErrors().map(\.code) == [ErrorCode.unknownSubscription.rawValue])
    }

    @Test func `listing shows the holder and position of each durable subscription`() {
        let host = TestHost()
        let client = host.connect(pid: 4711)
        client.subscribe(1, ["b", "a"], object: "o", durable: "second")
        client.subscribe(2, ["c"], durable: "first")
        host.run()
        client.detach(2)
        host.run()
        _ = client.take()
        client.send(ListRequest(request: client.nextRequest()))
        host.run()
        #expect(
            client.take() == [
                .subscriptionEntry(
                    SubscriptionEntry(
                        request: 4, uid: 1000, behind: 0, durableName: "first", patterns: ["c"])),
                .subscriptionEntry(
                    SubscriptionEntry(
                        request: 4, uid: 1000, pid: 4711, client: 1, behind: 0, durableName: "second", object: "o",
                        patterns: ["a", "b"])),
                .listEnd(ListEnd(request: 4)),
            ])
    }
}
