import NotifyCenter
import NotifyLog
import NotifyWire
import Testing
import WireTestSupport

@testable import NotifyBroker

/// Monitors: each request returns the posts since the client's previous request.
struct MonitorTests {
    private func posts(_ client: Client, _ host: TestHost, _ patterns: [String] = [">"]) -> [PostEntry] {
        _ = client.take()
        let request = client.nextRequest()
        client.send(MonitorRequest(request: request, patterns: patterns))
        host.run()
        var answer = client.take()
        #expect(answer.popLast() == .listEnd(ListEnd(request: request)))
        let posts = answer.compactMap { if case .postEntry(let entry) = $0 { entry } else { nil } }
        #expect(posts.count == answer.count && posts.allSatisfy { $0.request == request })
        return posts
    }

    private func names(_ posts: [PostEntry]) -> [String] { posts.map { String(decoding: $0.name, as: UTF8.self) } }

    @Test func `an accepted post is reported with stamp, headers and receipt`() throws {
        let host = TestHost()
        let (monitor, poster, reader) = (host.connect(uid: 1), host.connect(uid: 2, pid: 20), host.connect())
        reader.subscribe(1, ["a"])
        reader.subscribe(2, ["a"], durable: "d")
        host.run()
        #expect(posts(monitor, host).isEmpty)
        let headers = try HeaderList.encode([("k", "v")])
        poster.post("a", object: "o", headers: headers, payload: [UInt8](repeating: 7, count: 3_000))
        host.run()
        var expected = PostEntry(
            request: 2,
            stamp: Stamp(
                sequence: host.lastSequence, timeMicroseconds: 1_700_000_000_000_000, uid: 2, gid: 2, pid: 20),
            name: Array("a".utf8))
        expected.object = Array("o".utf8)
        expected.headers = headers
        expected.payload = [UInt8](repeating: 7, count: PostEntry.maximumPayloadBytes)
        expected.payloadBytes = 3_000
        (expected.client, expected.subscribers, expected.stored, expected.durability) = (2, 1, 1, .stored)
        #expect(posts(monitor, host) == [expected])
        #expect(posts(monitor, host).isEmpty, "each post is reported once")
    }

    @Test func `a stored post is reported after its commit, with the outcome`() throws {
        let host = TestHost()
        let (monitor, poster) = (host.connect(uid: 1), host.connect(uid: 1))
        _ = posts(monitor, host)
        func visible() -> [PostEntry] {
            _ = monitor.take()
            monitor.send(MonitorRequest(request: monitor.nextRequest(), patterns: [">"]))
            host.tick()
            return monitor.take().compactMap { if case .postEntry(let entry) = $0 { entry } else { nil } }
        }
        poster.post("a", .stored)
        poster.post("b", .volatile)
        host.tick()
        #expect(names(visible()) == ["b"])
        host.work()
        host.tick()
        #expect(visible().map(\.durability) == [.stored])
        poster.post("c", .stored)
        host.tick()
        host.work(failingWith: .full)
        host.tick()
        let failed = try #require(visible().first)
        #expect(failed.errorCode == ErrorCode.logFull.rawValue && failed.stamp.sequence == 0)
        #expect(failed.reason == "not stored: the disk is full")
    }

    @Test func `only posts that match a pattern are reported`() {
        let host = TestHost()
        let (root, poster) = (host.connect(uid: 0), host.connect(uid: 1))
        _ = posts(root, host, ["a.*", "b"])
        for name in ["a.1", "a", "b", "b.1", "notifyd.a"] { poster.post(name) }
        #expect(names(posts(root, host, ["a.*", "b"])) == ["a.1", "b"])
        #expect(posts(root, host, [">", "notifyd.>"]).isEmpty, "other patterns begin a new monitor")
        for name in ["x", "notifyd.a"] { poster.post(name) }
        #expect(names(posts(root, host, [">", "notifyd.>"])) == ["x", "notifyd.a"])
    }

    @Test func `posts under names that a client may not receive are not reported`() {
        let host = TestHost(policy: AccessPolicy(rules: [AccessRule(.deny, [.subscribe], names: ["hr.>"], uids: [1])]))
        let (monitor, other, poster) = (host.connect(uid: 1), host.connect(uid: 2), host.connect(uid: 3))
        for client in [monitor, other] { _ = posts(client, host) }
        for name in ["hr.pay", "user.3.a", "a"] { poster.post(name) }
        #expect(names(posts(monitor, host)) == ["a"])
        #expect(names(posts(other, host)) == ["hr.pay", "a"])
        host.core.broker.policyChanged(
            to: AccessPolicy(generation: 9, rules: [AccessRule(.deny, [.subscribe], names: ["a"])]))
        for name in ["hr.pay", "a"] { poster.post(name) }
        #expect(names(posts(monitor, host)) == ["hr.pay"], "a change of the policy applies at once")
    }

    @Test func `refused posts are reported to their user, and to managers with the rule`() throws {
        let host = TestHost(policy: AccessPolicy(rules: [AccessRule(.deny, [.post], names: ["hr.>"])]))
        let (root, same, other) = (host.connect(uid: 0), host.connect(uid: 1), host.connect(uid: 2))
        let poster = host.connect(uid: 1, pid: 9)
        for client in [root, same, other] { _ = posts(client, host) }
        poster.post("hr.pay")
        poster.post("no space allowed")
        let forManager = posts(root, host, [">"])
        #expect(forManager.map(\.errorCode) == [ErrorCode.forbidden, .invalidName].map(\.rawValue))
        #expect(forManager.first?.reason.contains("deny: [post]") == true)
        #expect(forManager.first?.stamp.pid == 9 && forManager.first?.stamp.sequence == 0)
        let forUser = try #require(posts(same, host).first)
        #expect(forUser.reason.hasPrefix("user 1 may not post 'hr.pay'") && !forUser.reason.contains("deny:"))
        #expect(posts(other, host).isEmpty)
        #expect(poster.takeErrors().map(\.message).allSatisfy { !$0.contains("deny:") })
    }

    @Test func `posts above the rate are skipped and counted`() {
        let host = TestHost()
        let (monitor, poster) = (host.connect(uid: 1), host.connect(uid: 2))
        _ = posts(monitor, host, ["a"])
        var count = 0
        while count < Monitor.maximumPostsPerSecond {
            for _ in 0..<500 { poster.post("a", .volatile, receipt: false) }
            host.run()
            count += posts(monitor, host, ["a"]).count
        }
        for _ in 0..<3 { poster.post("a", .volatile, receipt: false) }
        #expect(posts(monitor, host, ["a"]).isEmpty)
        host.advance(.seconds(1))
        for _ in 0..<2 { poster.post("a", .volatile, receipt: false) }
        #expect(posts(monitor, host, ["a"]).map(\.skipped) == [3, 0])
    }

    @Test(arguments: [(UInt32(0), UInt64(0)), (1, 3)])
    func `a monitor that may not manage everything is limited by posts under other names, too`(
        _ uid: UInt32, _ skippedCount: UInt64
    ) {
        let host = TestHost()
        let (monitor, poster) = (host.connect(uid: uid), host.connect(uid: 2))
        _ = posts(monitor, host, ["a"])
        for _ in 0..<Monitor.maximumComparisonsPerSecond { poster.post("b", .volatile, receipt: false) }
        for _ in 0..<3 { poster.post("a", .volatile, receipt: false) }
        host.run()
        #expect(posts(monitor, host, ["a"]).count == 3 - Int(skippedCount))
        host.advance(.seconds(1))
        poster.post("a", .volatile, receipt: false)
        #expect(posts(monitor, host, ["a"]).map(\.skipped) == [skippedCount])
    }

    @Test func `posts above the memory of a monitor are skipped and counted`() {
        let host = TestHost()
        let (monitor, poster) = (host.connect(uid: 1), host.connect(uid: 2))
        _ = posts(monitor, host)
        for _ in 0..<1_000 {
            poster.post("a", payload: [UInt8](repeating: 0, count: 2_000), .volatile, receipt: false)
        }
        host.run()
        let first = posts(monitor, host)
        #expect(first.reduce(0) { $0 + $1.byteCount } - first[0].byteCount < Monitor.maximumBytes)
        poster.post("a", .volatile, receipt: false)
        #expect(posts(monitor, host).map(\.skipped) == [UInt64(1_000 - first.count)])
    }

    @Test func `recording ends without requests, and when the connection ends`() {
        let host = TestHost()
        let (idle, closed, poster) = (host.connect(uid: 1), host.connect(uid: 1), host.connect(uid: 2))
        _ = posts(idle, host)
        host.advance(.seconds(9))
        _ = posts(closed, host)
        #expect(host.recordsPosts)
        host.advance(.seconds(1))
        poster.post("a")
        #expect(posts(idle, host).isEmpty)
        for client in [idle, closed] { host.closed(client) }
        #expect(!host.recordsPosts && host.nextDeadline == nil)
        #expect(host.holdsNothing(1))
    }

    @Test func `some of the monitors are reserved for managers`() {
        let host = TestHost()
        func add(_ uid: UInt32) -> [UInt16] {
            let client = host.connect(uid: uid)
            client.send(MonitorRequest(request: client.nextRequest(), patterns: [">"]))
            host.run()
            return client.takeErrors().map(\.code)
        }
        let refused = [ErrorCode.limitReached.rawValue]
        #expect([1, 1, 1].map(add) == [[], [], refused])
        #expect([2, 2, 3].map(add) == [[], [], refused])
        #expect([0, 0, 0, 0, 0].map(add) == [[], [], [], [], refused])
    }

    @Test func `a change of the policy discards recorded posts`() {
        let host = TestHost()
        let (monitor, poster) = (host.connect(uid: 1), host.connect(uid: 2))
        _ = posts(monitor, host)
        poster.post("a", .volatile)
        poster.post("a", .stored)
        host.tick()
        host.core.broker.policyChanged(
            to: AccessPolicy(generation: 9, rules: [AccessRule(.deny, [.subscribe], names: ["a"])]))
        host.run()
        #expect(posts(monitor, host).isEmpty)
        poster.post("b")
        #expect(posts(monitor, host).map(\.skipped) == [2])
    }

    @Test func `posts that are not read are discarded with the monitor`() {
        let host = TestHost()
        let (monitor, poster) = (host.connect(uid: 1), host.connect(uid: 2))
        _ = posts(monitor, host)
        for _ in 0..<200 { poster.post("a", payload: [UInt8](repeating: 0, count: 1_000), .volatile, receipt: false) }
        host.run()
        monitor.stopTaking()
        for _ in 0..<2_000 { monitor.send(StatisticsRequest(request: monitor.nextRequest())) }
        let request = monitor.nextRequest()
        monitor.send(MonitorRequest(request: request, patterns: [">"]))
        host.run()
        host.advance(.seconds(10))
        host.run()
        #expect(!host.recordsPosts)
        monitor.makeRoom()
        host.run()
        let answer = monitor.take()
        #expect(answer.last == .listEnd(ListEnd(request: request)))
        host.closed(monitor)
        #expect(host.holdsNothing(1))
    }

    @Test(arguments: [
        ([], ErrorCode.invalidArgument), (Array(repeating: "a", count: 17), .invalidArgument),
        (["a..b"], .invalidPattern),
    ])
    func `invalid patterns are refused`(_ patterns: [String], _ code: ErrorCode) {
        let host = TestHost()
        let client = host.connect()
        client.send(MonitorRequest(request: 1, patterns: patterns))
        host.run()
        #expect(client.takeErrors().map(\.code) == [code.rawValue])
        #expect(!host.recordsPosts)
    }
}
