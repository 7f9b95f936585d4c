import WireTestSupport
import NotifyCenter
import NotifyLog
import NotifyWire
import Testing

@testable import NotifyBroker

/// A policy that replaces another: nothing that was decided before is used again.
///
/// The rules are the default's under every generation, so what may be received changes here with the identity that a
/// subscription was attached with, and what is counted is that decisions are made anew.
struct PolicyChangeTests {
    @Test func `a policy change invalidates resolutions`() {
        let shell = Shell()
        let client = shell.connect()
        client.subscribe(1, ["user.>"])
        shell.run()
        client.post("user.1000.a", .volatile)
        shell.run()
        let before = shell.resolution("user.1000.a")
        #expect(shell.resolution("user.1000.a") === before)
        shell.core.broker.policyChanged(to: AccessPolicy(generation: 1))
        #expect(!shell.isCurrent(before))
        let after = shell.resolution("user.1000.a")
        #expect(after !== before && after.registrations == before.registrations)
        client.post("user.1000.a", .volatile)
        shell.run()
        #expect(client.takeMessages().count == 2)
    }

    @Test func `a message in flight is resolved again at its commit`() {
        let shell = Shell()
        let client = shell.connect()
        client.subscribe(1, ["a"], durable: "inbox")
        shell.run()
        _ = client.take()
        client.post("a")
        shell.tick()
        shell.core.broker.policyChanged(to: AccessPolicy(generation: 1))
        shell.run()
        #expect(client.takeMessages().count == 1)
    }

    @Test func `a page read under earlier rights is requested again`() {
        var configuration = BrokerConfiguration()
        configuration.tailRingBytes = 0
        let shell = Shell(configuration)
        let client = shell.connect()
        client.subscribe(1, ["a"], durable: "inbox")
        shell.run()
        client.detach(1)
        shell.run()
        for _ in 0..<3 { client.post("a") }
        shell.run()
        _ = client.take()
        client.subscribe(2, ["a"], durable: "inbox")
        shell.tick()
        shell.work()
        shell.tick()
        guard case .page(let request)? = shell.store.jobs.first else {
            Issue.record("no page was requested")
            return
        }
        #expect(request.access.policy.generation == 0)
        shell.core.broker.policyChanged(to: AccessPolicy(generation: 1))
        shell.work()
        shell.tick()
        #expect(client.takeMessages() == [], "the page was read under other rights")
        guard case .page(let again)? = shell.store.jobs.first else {
            Issue.record("the page was not requested again")
            return
        }
        #expect(again.access.policy.generation == 1 && again.after == request.after)
        shell.run()
        #expect(client.takeMessages().count == 3)
    }

    /// What a durable subscription of another user's names does not receive, it passes for good.
    @Test func `a durable subscription passes stored messages that it may not receive`() {
        for ringBytes in [0, 1 << 20] {
            var configuration = BrokerConfiguration()
            configuration.tailRingBytes = ringBytes
            let shell = Shell(configuration)
            let (client, other) = (shell.connect(uid: 1000), shell.connect(uid: 1001))
            client.subscribe(1, ["user.>", "a"], durable: "inbox")
            shell.run()
            client.detach(1)
            shell.run()
            other.post("user.1001.x", .stored)
            client.post("a", .stored)
            other.post("user.1001.y", .stored)
            shell.run()
            client.subscribe(2, ["user.>", "a"], durable: "inbox")
            shell.run()
            let messages = client.takeMessages()
            #expect(messages.map(\.name) == ["a"])
            client.acknowledge(2, messages[0].sequence...messages[0].sequence)
            shell.advance(.seconds(1))
            shell.run()
            #expect(shell.store.subscription(named: "inbox")?.progress.cursor == shell.lastSequence)
        }
    }
}

extension Shell {
    func isCurrent(_ resolution: Resolution) -> Bool { core.broker.subscriptions.isCurrent(resolution) }

    func resolution(_ name: String) -> Resolution {
        Array(name.utf8).withUnsafeBytes { core.broker.resolve(PostKey(name: $0, object: nil)) }
    }
}
