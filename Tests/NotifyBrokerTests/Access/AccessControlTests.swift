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
    @Test func `the groups of an identity are charged once to its user`() {
        let host = TestHost()
        func charged() -> Int { host.core.broker.ledger.amount(of: .identityBytes, uid: 1000) }
        let groups = (1...500).map { UInt32($0) }
        let clients = (0..<3).map { _ in host.connect(uid: 1000, groups: groups) }
        #expect(charged() == 2000)
        let other = host.connect(uid: 1000, groups: [7])
        #expect(charged() == 2004)
        clients[0].subscribe(1, ["a"], durable: "inbox")
        host.run()
        for client in clients { host.closed(client) }
        #expect(charged() == 2004, "the durable subscription keeps its owner")
        other.remove("inbox")
        host.run()
        #expect(charged() == 4)
        host.closed(other)
        #expect(charged() == 0)
    }

    @Test func `a peer whose groups exceed its user's share of the memory is refused`() {
        var configuration = BrokerConfiguration()
        configuration.memoryBytes = 1 << 20
        let host = TestHost(configuration)
        let groups = (0..<65_536).map { UInt32($0) }
        _ = host.connect(uid: 1000, groups: Array(groups.prefix(100)))
        let clients = (0..<4).map { host.connect(uid: 1000, groups: groups + [UInt32($0)], greets: false) }
        host.run()
        let errors = clients.flatMap { $0.takeErrors() }
        #expect(!errors.isEmpty && errors.allSatisfy { $0.code == ErrorCode.limitReached.rawValue })
    }

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
