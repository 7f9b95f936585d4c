import NotifyLog
import NotifyWire
import Testing
import WireTestSupport

@testable import NotifyBroker

/// The identities that the log stores with a durable subscription.
struct OwnerTests {
    private func attach(_ host: TestHost, groups: [UInt32], instance: InstanceID = .one) -> Client {
        let client = host.connect(groups: groups, instance: instance)
        client.subscribe(1, ["a"], durable: "inbox")
        return client
    }

    /// Returns the groups in the log, and the groups that the broker uses for decisions.
    private func groups(_ host: TestHost) -> [[UInt32]?] {
        let inMemory = host.durable("inbox").map { host.core.broker.access.identity($0.owner).groups }
        return [host.store.subscription(named: "inbox")?.owner.groups, inMemory]
    }

    @Test func `each attachment stores its identity`() {
        let host = TestHost()
        for expected in [[5], [6, 7], [], [6, 7]] as [[UInt32]] {
            let client = attach(host, groups: expected)
            host.run()
            #expect(groups(host) == [expected, expected])
            host.closed(client)
            host.run()
        }
        #expect(host.core.broker.access.identityCount == 3)
        let next = TestHost(store: host.store)
        #expect(groups(next) == [[6, 7], [6, 7]])
        #expect(host.store.subscription(named: "inbox")?.owners.map(\.groups) == [[5], [], [6, 7]])
        #expect(next.core.broker.access.identityCount == 3)
    }

    @Test func `eight identities are kept, and the oldest one is forgotten`() {
        let host = TestHost()
        for group in [1, 2, 3, 4, 5, 6, 7, 8, 1, 9] as [UInt32] {
            host.closed(attachAndRun(host, groups: [group]))
            host.run()
        }
        let expected = [[3], [4], [5], [6], [7], [8], [1], [9]] as [[UInt32]]
        #expect(host.store.subscription(named: "inbox")?.owners.map(\.groups) == expected)
        #expect(host.core.broker.access.identityCount == 8)
        let access = host.core.broker.access
        #expect(host.durable("inbox")?.identities.inOrder.map { access.identity($0).groups } == expected)
    }

    @Test func `an attachment that takes over a pending one determines the identity`() {
        let host = TestHost()
        host.closed(attachAndRun(host, groups: [5]))
        host.run()
        let clients = [[6], [5]].map { host.connect(groups: $0, instance: .one) }
        for client in clients {
            client.subscribe(1, ["a"], durable: "inbox")
            host.tick()
        }
        #expect(groups(host) == [[5], [5]], "neither is committed")
        host.run()
        #expect(groups(host) == [[5], [5]])
    }

    @Test func `an attachment whose client leaves before the commit stores its identity`() {
        let host = TestHost()
        host.closed(attachAndRun(host, groups: [5]))
        host.run()
        let second = attach(host, groups: [6])
        host.tick()
        host.closed(second)
        host.run()
        #expect(groups(host) == [[6], [6]])
        host.closed(attachAndRun(host, groups: [5], instance: .two))
        host.run()
        #expect(groups(host) == [[5], [5]])
        #expect(host.core.broker.access.identityCount == 2)
    }

    @Test func `the earlier identity stays if the commit of an attachment fails`() {
        let host = TestHost()
        host.closed(attachAndRun(host, groups: [5]))
        host.run()
        let second = attach(host, groups: [6])
        host.tick()
        host.work(failingWith: .broken)
        host.closed(second)
        host.run()
        #expect(groups(host) == [[5], [5]])
        #expect(host.core.broker.access.identityCount == 1)
    }

    private func attachAndRun(_ host: TestHost, groups: [UInt32], instance: InstanceID = .one) -> Client {
        let client = attach(host, groups: groups, instance: instance)
        host.run()
        return client
    }
}
