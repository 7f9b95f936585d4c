import NotifyCenter
import NotifyLog
import NotifyWire
import Testing
import WireTestSupport

@testable import NotifyBroker

/// Identities that a durable subscription forgets when several clients attach or leave before a commit.
struct ForgottenIdentitiesTests {
    private static let groups = 1...8 as ClosedRange<UInt32>

    /// Only the first group may receive names under `secret`.
    private let host = TestHost(
        policy: AccessPolicy(rules: [
            AccessRule(.deny, [.subscribe], names: ["secret.>"]),
            AccessRule(.allow, [.subscribe], names: ["secret.>"], gids: [1]),
        ]))

    private func connect(_ group: UInt32) -> Client { host.connect(groups: [group]) }

    private func subscribe(_ client: Client) {
        client.subscribe(1, [">"], durable: "jobs", from: .oldest, sharing: .group)
    }

    private func attach(_ groups: some Sequence<UInt32>) -> [Client] {
        groups.map { group in
            let client = connect(group)
            subscribe(client)
            run()
            return client
        }
    }

    /// Lets the broker finish its work, including the work that it does a moment later.
    private func run() {
        host.run()
        host.advance(.milliseconds(100))
        host.run()
    }

    private func checkIdentities(besides others: [UInt32]) {
        let owners = host.durable("jobs")?.identities.inOrder.map { host.core.broker.access.identity($0).groups } ?? []
        #expect(others.allSatisfy { owners.contains([$0]) }, "\(owners)")
        #expect(host.store.subscription(named: "jobs")?.owners.map(\.groups) == owners)
    }

    @Test func `no identity with a member is forgotten for a client that leaves before its commit`() {
        let clients = attach(Self.groups)
        let (ninth, tenth) = (connect(9), connect(10))
        clients[0].detach(1)
        run()
        subscribe(ninth)
        ninth.detach(1)
        subscribe(tenth)
        run()
        #expect(tenth.takeErrors().isEmpty)
        checkIdentities(besides: Array(2...8) + [10])
    }

    @Test func `no identity with a member is forgotten if the oldest identity attaches again`() {
        let clients = attach(Self.groups)
        let (ninth, first) = (connect(9), connect(1))
        clients[0].detach(1)
        run()
        subscribe(ninth)
        clients[2].detach(1)
        subscribe(first)
        run()
        #expect(first.takeErrors().isEmpty)
        checkIdentities(besides: [1, 2] + Array(4...9))
    }

    @Test func `messages withheld for a forgotten identity are dropped although the new client has left`() {
        for client in attach([1]) { host.closed(client) }
        let other = attach([2])[0]
        host.connect(uid: 0).post("secret.a")
        run()
        for client in attach(3...8) { host.closed(client) }
        run()
        #expect(other.take().allSatisfy { if case .gap = $0 { false } else { true } })
        let ninth = connect(9)
        subscribe(ninth)
        host.tick()
        host.closed(ninth)
        run()
        let gaps = other.take().compactMap { if case .gap(let gap) = $0 { gap.reason } else { nil } }
        #expect(gaps == [.forbidden])
        #expect(host.durable("jobs")?.redeliveryCount == 0)
    }
}
