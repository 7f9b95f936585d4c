import WireTestSupport
import NotifyCenter
import NotifyLog
import NotifyWire
import Testing

@testable import NotifyBroker

/// Replacing a policy. Decisions made under the earlier policy must not be reused.
///
/// All policies in these tests have the default rules, so the rights do not change. The first tests check that names
/// are resolved again and that pages are read again. The last one replaces no policy: it is about messages that the
/// default rules withhold.
struct PolicyChangeTests {
    @Test func `a policy change invalidates resolutions`() {
        let host = TestHost()
        let client = host.connect()
        client.subscribe(1, ["user.>"])
        host.run()
        client.post("user.1000.a", .volatile)
        host.run()
        let before = host.resolution("user.1000.a")
        #expect(host.resolution("user.1000.a") === before)
        host.core.broker.policyChanged(to: AccessPolicy(generation: 1))
        #expect(!host.isCurrent(before))
        let after = host.resolution("user.1000.a")
        #expect(after !== before && after.registrations == before.registrations)
        client.post("user.1000.a", .volatile)
        host.run()
        #expect(client.takeMessages().count == 2)
    }

    @Test func `a message in flight is resolved again at its commit`() {
        let host = TestHost()
        let client = host.connect()
        client.subscribe(1, ["a"], durable: "inbox")
        host.run()
        _ = client.take()
        client.post("a")
        host.tick()
        host.core.broker.policyChanged(to: AccessPolicy(generation: 1))
        host.run()
        #expect(client.takeMessages().count == 1)
    }

    @Test func `a page read under earlier rights is requested again`() {
        var configuration = BrokerConfiguration()
        configuration.tailRingBytes = 0
        let host = TestHost(configuration)
        let client = host.connect()
        client.subscribe(1, ["a"], durable: "inbox")
        host.run()
        client.detach(1)
        host.run()
        for _ in 0..<3 { client.post("a") }
        host.run()
        _ = client.take()
        client.subscribe(2, ["a"], durable: "inbox")
        host.tick()
        host.work()
        host.tick()
        guard case .page(let request)? = host.store.jobs.first else {
            Issue.record("no page was requested")
            return
        }
        #expect(request.access.policy.generation == 0)
        host.core.broker.policyChanged(to: AccessPolicy(generation: 1))
        host.work()
        host.tick()
        #expect(client.takeMessages() == [], "the page was read with earlier rights")
        guard case .page(let again)? = host.store.jobs.first else {
            Issue.record("the page was not requested again")
            return
        }
        #expect(again.access.policy.generation == 1 && again.after == request.after)
        host.run()
        #expect(client.takeMessages().count == 3)
    }

    /// A durable subscription skips messages under another user's names permanently.
    @Test func `a durable subscription passes stored messages that it may not receive`() {
        for ringBytes in [0, 1 << 20] {
            var configuration = BrokerConfiguration()
            configuration.tailRingBytes = ringBytes
            let host = TestHost(configuration)
            let (client, other) = (host.connect(uid: 1000), host.connect(uid: 1001))
            client.subscribe(1, ["user.>", "a"], durable: "inbox")
            host.run()
            client.detach(1)
            host.run()
            other.post("user.1001.x", .stored)
            client.post("a", .stored)
            other.post("user.1001.y", .stored)
            host.run()
            client.subscribe(2, ["user.>", "a"], durable: "inbox")
            host.run()
            let messages = client.takeMessages()
            #expect(messages.map(\.name) == ["a"])
            client.acknowledge(2, messages[0].sequence...messages[0].sequence)
            host.advance(.seconds(1))
            host.run()
            #expect(host.store.subscription(named: "inbox")?.progress.cursor == host.lastSequence)
        }
    }
}

extension TestHost {
    func isCurrent(_ resolution: Resolution) -> Bool { core.broker.subscriptions.isCurrent(resolution, of: .max) }

    func resolution(_ name: String) -> Resolution {
        Array(name.utf8).withUnsafeBytes { core.broker.resolve(PostKey(name: $0, object: nil)) }
    }
}
