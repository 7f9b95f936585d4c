import NotifyCenter
import NotifyLog
import NotifyWire
import Testing
import WireTestSupport

@testable import NotifyBroker

/// Rights that are revoked after messages of a durable subscription were delivered.
struct RevokedRightsTests {
    private let host = TestHost()

    /// Lets only members of some groups receive names under `secret`.
    private func allow(_ gids: Set<UInt32>, generation: UInt32) {
        var rules = [AccessRule(.deny, [.subscribe], names: ["secret.>"])]
        if !gids.isEmpty { rules.append(AccessRule(.allow, [.subscribe], names: ["secret.>"], gids: gids)) }
        host.core.broker.policyChanged(to: AccessPolicy(generation: generation, rules: rules))
        run()
    }

    private func attach(_ settings: DurableSettingChanges = DurableSettingChanges()) -> Client {
        let client = host.connect()
        client.subscribe(1, [">"], durable: "jobs", from: .oldest, settings: settings)
        run()
        return client
    }

    /// Lets the broker finish its work, including the work that it does a moment later.
    private func run() {
        host.run()
        host.advance(.milliseconds(60))
        host.run()
    }

    @Test func `acknowledged messages are not delivered again when rights are revoked and granted`() {
        let first = attach()
        for name in ["open.a", "secret.a"] { host.connect(uid: 0).post(name) }
        run()
        #expect(first.takeMessages().map(\.sequence) == [1, 2])
        first.acknowledge(1, 2...2)
        first.detach(1)
        allow([], generation: 1)
        let second = attach()
        #expect(second.takeMessages().map(\.sequence) == [1])
        second.detach(1)
        allow([1000], generation: 2)
        #expect(attach().takeMessages().map(\.sequence) == [1])
    }

    @Test func `no gap counts a message that is acknowledged while its copy is read`() {
        let client = attach(DurableSettingChanges(deadlineMicroseconds: 100_000, retryDelays: [0]))
        host.connect(uid: 0).post("secret.a")
        host.run()
        #expect(client.takeMessages().map(\.sequence) == [1])
        for _ in 0..<100 where host.store.redeliveryReads == 0 {
            host.work()
            host.advance(.milliseconds(20))
            host.tick()
        }
        client.acknowledge(1, 1...1)
        allow([], generation: 1)
        #expect(client.take().allSatisfy { if case .gap = $0 { false } else { true } })
        #expect(host.durable("jobs")?.redeliveryCount == 0)
    }
}
