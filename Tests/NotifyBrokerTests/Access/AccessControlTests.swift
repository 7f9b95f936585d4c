import NotifyCenter
import NotifyLog
import NotifyWire
import Testing

@testable import NotifyBroker

struct IdentityTableTests {
    @Test func `equal identities are stored once`() {
        var table = IdentityTable()
        let first = table.retain(Identity(uid: 1, gid: 2, groups: [3]))
        let second = table.retain(Identity(uid: 1, gid: 2, groups: [3]))
        let other = table.retain(Identity(uid: 1, gid: 2, groups: [4]))
        #expect(first == second && first != other)
        #expect(table.count == 2)
        table.release(first)
        #expect(table[second] == Identity(uid: 1, gid: 2, groups: [3]))
        table.release(second)
        #expect(table.count == 1)
        let next = table.retain(Identity(uid: 9, gid: 9))
        #expect(next == first, "the slot is reused")
        #expect(table[next].uid == 9 && table[other].groups == [4])
    }
}

struct AccessControlTests {
    @Test func `closed connections and removed durable subscriptions release their identities`() {
        let host = TestHost()
        let client = host.connect(groups: [5])
        client.subscribe(1, ["a"], durable: "inbox")
        host.run()
        #expect(host.core.broker.access.identityCount == 1)
        host.closed(client)
        #expect(host.core.broker.access.identityCount == 1, "the durable subscription keeps its owner")
        let other = host.connect(groups: [5, 6])
        other.remove("inbox")
        host.run()
        #expect(host.core.broker.access.identityCount == 1)
        host.closed(other)
        #expect(host.core.broker.access.identityCount == 0)
    }

    @Test func `attaching stores the identity with the durable subscription`() {
        let host = TestHost()
        let client = host.connect(groups: [5])
        client.subscribe(1, ["a"], durable: "inbox")
        host.run()
        #expect(host.store.subscription(named: "inbox")?.owner.groups == [5])
        host.closed(client)
        let other = host.connect(groups: [6, 7])
        other.subscribe(1, ["a"], durable: "inbox")
        host.tick()
        host.work(failingWith: .broken)
        host.run()
        #expect(host.store.subscription(named: "inbox")?.owner.groups == [5], "the attachment failed")
        other.subscribe(2, ["a"], durable: "inbox")
        host.advance(.seconds(2))
        host.run()
        #expect(host.store.subscription(named: "inbox")?.owner.groups == [6, 7])
    }
}
