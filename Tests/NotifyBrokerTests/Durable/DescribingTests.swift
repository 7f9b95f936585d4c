import NotifyCenter
import NotifyLog
import NotifyWire
import Testing
import WireTestSupport

@testable import NotifyBroker

/// Descriptions of single durable subscriptions.
struct DescribingTests {
    private func describe(_ client: Client, _ host: TestHost, uid: UInt32 = Remove.ownUID) -> DurableDescription? {
        _ = client.take()
        client.send(Describe(request: client.nextRequest(), uid: uid, durableName: "d"))
        host.run()
        return client.inbox.lazy.compactMap {
            if case .durableDescription(let description) = $0 { description } else { nil }
        }.first
    }

    @Test func `a description has creation, attachment and expiry`() throws {
        let host = TestHost()
        let start = host.now.wallMicroseconds
        host.store.statistics.subscriptionExpiry = .seconds(60)
        let (first, other) = (host.connect(pid: 20), host.connect(pid: 30))
        host.advance(.seconds(1))
        first.subscribe(1, ["a"], object: "o", durable: "d", credit: 1)
        host.run()
        first.post("a", object: "o", .stored)
        host.run()
        let created = try #require(describe(other, host))
        #expect(created.entry.durableName == "d" && created.entry.object == "o" && created.entry.patterns == ["a"])
        #expect(created.entry.pid == 20 && created.entry.pending?.messages == 1)
        #expect(created.createdMicroseconds == start + 1_000_000)
        #expect(created.attachedMicroseconds == start + 1_000_000 && created.attachedPID == 20)
        #expect(created.expiryMicroseconds == 60_000_000 && created.unusedMicroseconds == 0)
        host.closed(first)
        host.advance(.seconds(1))
        other.subscribe(1, ["a"], object: "o", durable: "d")
        host.run()
        other.detach(1)
        host.run()
        let attached = try #require(describe(other, host))
        #expect(attached.createdMicroseconds == start + 1_000_000)
        #expect(attached.attachedMicroseconds == start + 2_000_000 && attached.attachedPID == 30)
        #expect(attached.entry.pid == 0)
        let restarted = TestHost(store: host.store)
        let again = try #require(describe(restarted.connect(), restarted))
        #expect(again.createdMicroseconds == attached.createdMicroseconds)
        #expect(again.attachedMicroseconds == attached.attachedMicroseconds && again.attachedPID == 30)
    }

    @Test func `a description has the last failure, and the time of the next try`() throws {
        let host = TestHost()
        let client = host.connect()
        client.subscribe(
            1, ["a"], durable: "d", settings: DurableSettingChanges(retryDelays: [10_000_000], maximumDeliveries: 2))
        host.run()
        _ = client.take()
        for _ in 0..<2 { client.post("a") }
        host.run()
        let messages = client.takeMessages()
        var described = try #require(describe(host.connect(), host))
        #expect(described.lastFailure == nil && described.nextMicroseconds == 0)
        host.advance(.seconds(1))
        let failed = host.now.wallMicroseconds
        client.reject(1, messages[0].sequence, reason: "one")
        host.run()
        described = try #require(describe(host.connect(), host))
        #expect(
            described.lastFailure
                == .init(sequence: messages[0].sequence, microseconds: failed, failures: 1, reason: "one"))
        #expect(described.nextMicroseconds == failed + 10_000_000)
        host.advance(.seconds(10))
        host.run()
        described = try #require(describe(host.connect(), host))
        #expect(described.nextMicroseconds == 0, "the message is being processed")
        let again = host.now.wallMicroseconds
        client.reject(1, messages[1].sequence, reason: "two")
        host.run()
        host.advance(.milliseconds(60))
        host.run()
        described = try #require(describe(host.connect(), host))
        #expect(described.lastFailure?.reason == "two" && described.nextMicroseconds == again + 10_000_000)

        // After a restart the reason is known, but not the time.
        let restarted = TestHost(store: host.store)
        described = try #require(describe(restarted.connect(), restarted))
        #expect(described.lastFailure?.reason == "two" && described.lastFailure?.microseconds == 0)
    }

    @Test func `the reason of a failure is hidden from a client that may not receive the message`() throws {
        let rules = [
            AccessRule(.deny, [.subscribe], names: ["hr.>"]),
            AccessRule(.allow, [.subscribe], names: ["hr.>"], gids: [77]),
        ]
        let host = TestHost(policy: AccessPolicy(generation: 0, rules: rules))
        let client = host.connect(groups: [77])
        client.subscribe(1, ["hr.>"], durable: "d")
        host.run()
        _ = client.take()
        client.post("hr.pay")
        host.run()
        client.reject(1, try #require(client.takeMessages().first).sequence, reason: "salary")
        host.run()
        #expect(try #require(describe(host.connect(groups: [77]), host)).lastFailure?.reason == "salary")
        let hidden = try #require(describe(host.connect(), host)).lastFailure
        #expect(hidden?.failures == 1 && hidden?.reason == "")
    }

    @Test func `a client without credit creates a subscription and does not count as attached`() throws {
        let host = TestHost()
        let (creator, reader) = (host.connect(pid: 20), host.connect(pid: 30))
        creator.subscribe(1, ["a"], durable: "d", credit: 0)
        creator.detach(1)
        host.run()
        let created = try #require(describe(creator, host))
        #expect(created.createdMicroseconds > 0 && created.attachedMicroseconds == 0 && created.attachedPID == 0)
        reader.subscribe(1, ["a"], durable: "d")
        reader.detach(1)
        host.run()
        let attached = try #require(describe(creator, host))
        #expect(attached.attachedMicroseconds > 0 && attached.attachedPID == 30)
        creator.subscribe(1, ["a"], durable: "d", credit: 0)
        creator.detach(1)
        host.run()
        #expect(describe(creator, host)?.attachedPID == 30)
        let restarted = TestHost(store: host.store)
        #expect(describe(restarted.connect(), restarted)?.attachedPID == 30)
    }

    @Test func `an attachment that fails does not count as the last one`() throws {
        let host = TestHost()
        let client = host.connect(pid: 20)
        client.subscribe(1, ["a"], durable: "d")
        client.detach(1)
        host.run()
        host.connect(pid: 30).subscribe(1, ["a"], durable: "d")
        host.tick()
        host.work(failingWith: .full)
        host.advance(.seconds(10))
        host.run()
        #expect(describe(client, host)?.attachedPID == 20)
    }

    @Test func `describing another user's subscription requires the right to manage everything`() {
        let host = TestHost()
        let client = host.connect()
        client.subscribe(1, ["a"], durable: "d")
        host.run()
        let (stranger, root) = (host.connect(uid: 2000), host.connect(uid: 0))
        #expect(describe(stranger, host, uid: 1000) == nil)
        #expect(stranger.takeErrors().map(\.code) == [ErrorCode.forbidden.rawValue])
        #expect(describe(root, host) == nil)
        #expect(root.takeErrors().map(\.code) == [ErrorCode.unknownSubscription.rawValue])
        #expect(describe(root, host, uid: 1000)?.entry.uid == 1000)
    }

    @Test func `a subscription that is removed while its description waits is unknown`() {
        let host = TestHost()
        let (client, other) = (host.connect(), host.connect())
        client.subscribe(1, ["a"], durable: "d")
        client.detach(1)
        host.run()
        _ = client.take()
        client.remove("d")
        host.tick()
        let request = other.nextRequest()
        other.send(Describe(request: request, durableName: "d"))
        let ping = other.ping()
        host.run()
        let answer = other.take()
        #expect(answer.count == 2 && answer.last == .pong(Pong(request: ping)))
        guard case .error(let error)? = answer.first else {
            Issue.record("no error: \(answer)")
            return
        }
        #expect(error.code == ErrorCode.unknownSubscription.rawValue && error.request == request)
    }

    @Test func `the pending messages are counted again after a reset`() {
        let host = TestHost()
        let client = host.connect()
        client.subscribe(1, ["a"], durable: "d", credit: 0)
        host.run()
        client.post("a", .stored)
        host.run()
        #expect(describe(client, host)?.entry.pending?.messages == 1)
        client.post("a", .stored)
        client.send(Reset(request: client.nextRequest(), durableName: "d", to: .oldest))
        host.run()
        #expect(describe(client, host)?.entry.pending?.messages == 2)
    }
}
