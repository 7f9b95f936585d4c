import NotifyCenter
import NotifyLog
import NotifyWire
import Testing
import WireTestSupport

@testable import NotifyBroker

/// Configured rules on the message path, with cached decisions and after a change of the policy.
struct PolicyRulesTests {
    private static let hrForAlice = [
        AccessRule(.deny, [.post, .subscribe], names: ["hr.>"]),
        AccessRule(.allow, [.post, .subscribe], names: ["hr.>"], uids: [1000]),
    ]

    /// Posts a message and returns the number of connections that received it; nil if the post was refused.
    private func post(_ name: String, _ client: Client, _ host: TestHost) -> UInt32? {
        client.post(name, .volatile, receipt: true)
        host.run()
        for case .receipt(let receipt) in client.take() { return receipt.subscribers }
        return nil
    }

    @Test func `a name that is cached for one user is refused to another one`() {
        let host = TestHost(policy: AccessPolicy(rules: Self.hrForAlice))
        let (alice, bob) = (host.connect(uid: 1000), host.connect(uid: 1001))
        for _ in 0..<3 {
            #expect(post("hr.pay", alice, host) == 0)
            #expect(post("hr.pay", bob, host) == nil)
        }
        #expect(post("hr.new", bob, host) == nil)
        #expect(post("hr.new", alice, host) == 0)
        #expect(post("hr.new", bob, host) == nil)
        #expect(post("public", bob, host) == 0)
    }

    @Test func `an identity that reuses the slot of an earlier one has its own rights`() {
        let host = TestHost(policy: AccessPolicy(rules: Self.hrForAlice))
        let alice = host.connect(uid: 1000)
        #expect(post("hr.pay", alice, host) == 0)
        host.closed(alice)
        host.run()
        #expect(post("hr.pay", host.connect(uid: 1001), host) == nil)
    }

    @Test func `a change of the policy applies to cached posts and subscriptions at once`() {
        let host = TestHost(policy: AccessPolicy(rules: Self.hrForAlice))
        let (alice, bob) = (host.connect(uid: 1000), host.connect(uid: 1001))
        bob.subscribe(1, [">"])
        host.run()
        _ = bob.take()
        #expect(post("hr.pay", alice, host) == 0)
        #expect(bob.takeMessages() == [])
        host.core.broker.policyChanged(to: AccessPolicy(generation: 1))
        #expect(post("hr.pay", alice, host) == 1)
        #expect(bob.takeMessages().map(\.name) == ["hr.pay"])
        #expect(post("hr.pay", bob, host) == 1)
        host.core.broker.policyChanged(to: AccessPolicy(generation: 2, rules: Self.hrForAlice))
        #expect(post("hr.pay", bob, host) == nil)
        #expect(post("hr.pay", alice, host) == 0)
        #expect(bob.takeMessages() == [])
    }

    @Test func `a change of the policy applies to stored messages that were not delivered yet`() {
        let host = TestHost()
        let (alice, bob) = (host.connect(uid: 1000), host.connect(uid: 1001))
        bob.subscribe(1, [">"], durable: "inbox")
        host.run()
        bob.detach(1)
        for name in ["hr.a", "public.a", "hr.b"] { alice.post(name, .stored) }
        host.run()
        _ = bob.take()
        host.core.broker.policyChanged(to: AccessPolicy(generation: 1, rules: Self.hrForAlice))
        bob.subscribe(2, [">"], durable: "inbox")
        host.run()
        #expect(bob.takeMessages().map(\.name) == ["public.a"])
    }

    @Test func `a refusal names the rule's place`() {
        let rule = AccessRule(.deny, [.post, .subscribe], names: ["hr.>"], source: .file("/etc/p.yaml", line: 3))
        let host = TestHost(policy: AccessPolicy(rules: [rule]))
        let client = host.connect(uid: 1000)
        client.post("hr.pay")
        client.subscribe(1, ["hr.*"])
        host.run()
        #expect(
            client.takeErrors().map { $0.message } == [
                "user 1000 may not post 'hr.pay': denied by /etc/p.yaml:3",
                "user 1000 may not subscribe to 'hr.*': denied by /etc/p.yaml:3",
            ])
    }

    @Test func `a refusal for lack of the right to manage says how to fix it`() throws {
        let host = TestHost()
        let client = host.connect(uid: 1000)
        client.send(Remove(request: 1, uid: 0, durableName: "billing"))
        host.run()
        let message = try #require(client.takeErrors().first).message
        #expect(message.hasPrefix("user 1000 lacks the right to manage everything: "))
        #expect(message.hasSuffix("; run the command as root, or add a rule in policy.d that allows the request"))
    }

    @Test func `error messages call the user with uid 0 root`() {
        let host = TestHost()
        let root = host.connect(uid: 0)
        root.send(Remove(request: 1, uid: 0, durableName: "billing"))
        host.run()
        #expect(root.takeErrors().map(\.message) == ["root has no durable subscription 'billing'"])
    }
}
