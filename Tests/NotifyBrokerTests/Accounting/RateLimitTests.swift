import NotifyLog
import NotifyWire
import Testing
import WireTestSupport

@testable import NotifyBroker

/// Limits of posts and connections per second.
struct RateLimitTests {
    private func configuration(_ change: (inout UserLimits) -> Void) -> BrokerConfiguration {
        var configuration = BrokerConfiguration()
        change(&configuration.userLimits.general)
        return configuration
    }

    private func receipts(_ client: Client) -> Int {
        client.take().count { if case .receipt = $0 { true } else { false } }
    }

    @Test func `posts above the limit wait and none is refused`() {
        let host = TestHost(configuration { $0.postsPerSecond = 10 })
        let client = host.connect(uid: 1000)
        for _ in 0..<25 { client.post("a", .volatile) }
        host.run()
        #expect(receipts(client) == 10, "a burst may have the posts of one second")
        for expected in [1, 1, 1] {
            host.advance(.milliseconds(100))
            host.run()
            #expect(receipts(client) == expected)
        }
        for _ in 0..<20 {
            host.advance(.milliseconds(100))
            host.run()
        }
        #expect(receipts(client) == 12)
        #expect(client.takeErrors().isEmpty)
    }

    @Test func `requests other than posts are answered while posts wait`() {
        let host = TestHost(configuration { $0.postsPerSecond = 1 })
        let (poster, other) = (host.connect(uid: 1000), host.connect(uid: 1000))
        for _ in 0..<3 { poster.post("a", .volatile) }
        host.run()
        _ = poster.take()
        let request = other.ping()
        host.run()
        #expect(other.take().contains { if case .pong(let pong) = $0 { pong.request == request } else { false } })
    }

    @Test func `all connections of a user share the limit and other users are not affected`() {
        let host = TestHost(configuration { $0.postsPerSecond = 4 })
        let clients = (0..<8).map { _ in host.connect(uid: 1000) }
        let other = host.connect(uid: 1001)
        for client in clients { for _ in 0..<4 { client.post("a", .volatile) } }
        for _ in 0..<4 { other.post("a", .volatile) }
        host.run()
        #expect(clients.map(receipts).reduce(0, +) == 4)
        #expect(receipts(other) == 4)
        var seconds = 0
        var left = 28
        while left > 0, seconds < 20 {
            for _ in 0..<4 {
                host.advance(.milliseconds(250))
                host.run()
            }
            let posted = clients.map(receipts).reduce(0, +)
            #expect(posted == 4)
            left -= posted
            seconds += 1
        }
        #expect(left == 0 && seconds == 7)
    }

    @Test func `a connection that waits can be closed`() {
        let host = TestHost(configuration { $0.postsPerSecond = 1 })
        let (first, second) = (host.connect(uid: 1000), host.connect(uid: 1000))
        for client in [first, second] { for _ in 0..<2 { client.post("a", .volatile) } }
        host.run()
        host.closed(first)
        var posted = receipts(second)
        for _ in 0..<4 {
            host.advance(.seconds(1))
            host.run()
            posted += receipts(second)
        }
        #expect(posted == 2)
    }

    @Test func `a closed connection no longer waits for its rate limit`() {
        let host = TestHost(configuration { $0.postsPerSecond = 1 })
        for _ in 0..<20 {
            let client = host.connect(uid: 1000)
            for _ in 0..<2 { client.post("a", .volatile) }
            host.run()
            host.closed(client)
        }
        #expect(host.core.broker.ledger.rates.takeAll().isEmpty)
    }

    @Test func `connections above the rate limit are refused with an error that names the setting`() {
        let host = TestHost(configuration { $0.connectsPerSecond = 3 })
        func errors(_ uid: UInt32) -> [String] {
            let client = host.connect(uid: uid, greets: false)
            host.run()
            return client.takeErrors().map { $0.message }
        }
        for _ in 0..<3 { #expect(errors(1000).isEmpty) }
        let message = "user 1000 connects more than 3 times per second (limits.per_user.connects_per_second)"
        for _ in 0..<2 { #expect(errors(1000) == [message]) }
        #expect(errors(1001).isEmpty)
        host.advance(.milliseconds(334))
        #expect(errors(1000).isEmpty)
        #expect(errors(1000) == [message])
    }

    @Test func `for each limit, the last matching exception that sets it decides`() {
        var rules = UserLimitRules()
        rules.general.postsPerSecond = 5
        var user = UserLimitRules.Exception(uids: [1000], gids: [])
        user.postsPerSecond = .limit(7)
        user.connectsPerSecond = .limit(2)
        var group = UserLimitRules.Exception(uids: [], gids: [50])
        group.postsPerSecond = .unlimited
        rules.exceptions = [user, group]
        #expect(rules.limits(for: Identity(uid: 1000, gid: 1)).postsPerSecond == 7)
        #expect(rules.limits(for: Identity(uid: 1000, gid: 1, groups: [50])).postsPerSecond == nil)
        #expect(rules.limits(for: Identity(uid: 1000, gid: 50)).connectsPerSecond == 2)
        #expect(rules.limits(for: Identity(uid: 1001, gid: 1)).postsPerSecond == 5)
        #expect(rules.limits(for: Identity(uid: 1001, gid: 1)).connectsPerSecond == nil)
        rules.exceptions.swapAt(0, 1)
        #expect(rules.limits(for: Identity(uid: 1000, gid: 1, groups: [50])).postsPerSecond == 7)
    }

    @Test func `a reload with another exception applies to open connections`() {
        let host = TestHost(configuration { $0.postsPerSecond = 1 })
        let client = host.connect(uid: 1000, groups: [50])
        var group = UserLimitRules.Exception(uids: [], gids: [50])
        for (limit, expected) in [(UserLimitRules.Override.limit(3), 3), (.unlimited, 5), (.limit(2), 2)] {
            var new = configuration { $0.postsPerSecond = 1 }
            group.postsPerSecond = limit
            new.userLimits.exceptions = [group]
            host.core.broker.configurationChanged(to: new)
            // The tokens of earlier posts are available again.
            host.advance(.seconds(10))
            for _ in 0..<5 { client.post("a", .volatile) }
            host.run()
            #expect(receipts(client) == expected)
            host.advance(.seconds(10))
            host.run()
            _ = client.take()
        }
    }

    @Test func `a reload that removes the limit releases waiting connections`() {
        let host = TestHost(configuration { $0.postsPerSecond = 1 })
        let client = host.connect(uid: 1000)
        for _ in 0..<5 { client.post("a", .volatile) }
        host.run()
        #expect(receipts(client) == 1)
        host.core.broker.configurationChanged(to: BrokerConfiguration())
        host.run()
        #expect(receipts(client) == 4)
    }

    @Test func `the limits request reports rates with their limits`() {
        let host = TestHost(configuration { $0.postsPerSecond = 10 })
        let client = host.connect(uid: 1000)
        for _ in 0..<4 { client.post("a", .volatile) }
        client.send(LimitsRequest(request: client.nextRequest()))
        host.run()
        let counters = client.take().compactMap {
            if case .statistics(let report) = $0 { report.counters } else { nil }
        }
        .flatMap { $0 }
        #expect(counters.first { $0.name == "user.1000.posts_per_second" }?.value == 4)
        #expect(counters.first { $0.name == "user.1000.posts_per_second.limit" }?.value == 10)
    }
}
