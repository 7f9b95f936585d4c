import NotifyLog
import NotifyWire
import Testing
import WireTestSupport

@testable import NotifyBroker

/// The identity that the log keeps with a durable subscription.
struct OwnerTests {
    private func attach(_ shell: Shell, groups: [UInt32], instance: ClientInstance = .one) -> Client {
        let client = shell.connect(groups: groups, instance: instance)
        client.subscribe(1, ["a"], durable: "inbox")
        return client
    }

    /// The groups that the log has, and those that the broker decides with.
    private func groups(_ shell: Shell) -> [[UInt32]?] {
        let inMemory = shell.durable("inbox").map { shell.core.broker.access.identity($0.owner).groups }
        return [shell.store.subscription(named: "inbox")?.owner.groups, inMemory]
    }

    @Test func `each attachment stores its identity`() {
        let shell = Shell()
        for expected in [[5], [6, 7], [], [6, 7]] as [[UInt32]] {
            let client = attach(shell, groups: expected)
            shell.run()
            #expect(groups(shell) == [expected, expected])
            shell.closed(client)
            shell.run()
        }
        #expect(shell.core.broker.access.identityCount == 1)
        let next = Shell(store: shell.store)
        #expect(groups(next) == [[6, 7], [6, 7]])
    }

    @Test func `an attachment that takes over a pending one determines the identity`() {
        let shell = Shell()
        shell.closed(attachAndRun(shell, groups: [5]))
        shell.run()
        let clients = [[6], [5]].map { shell.connect(groups: $0, instance: .one) }
        for client in clients {
            client.subscribe(1, ["a"], durable: "inbox")
            shell.tick()
        }
        #expect(groups(shell) == [[5], [5]], "neither is committed")
        shell.run()
        #expect(groups(shell) == [[5], [5]])
    }

    @Test func `an attachment whose client leaves before the commit stores its identity`() {
        let shell = Shell()
        shell.closed(attachAndRun(shell, groups: [5]))
        shell.run()
        let second = attach(shell, groups: [6])
        shell.tick()
        shell.closed(second)
        shell.run()
        #expect(groups(shell) == [[6], [6]])
        shell.closed(attachAndRun(shell, groups: [5], instance: .two))
        shell.run()
        #expect(groups(shell) == [[5], [5]])
        #expect(shell.core.broker.access.identityCount == 1)
    }

    @Test func `an attachment whose commit fails keeps the earlier identity`() {
        let shell = Shell()
        shell.closed(attachAndRun(shell, groups: [5]))
        shell.run()
        let second = attach(shell, groups: [6])
        shell.tick()
        shell.work(failingWith: .broken)
        shell.closed(second)
        shell.run()
        #expect(groups(shell) == [[5], [5]])
        #expect(shell.core.broker.access.identityCount == 1)
    }

    private func attachAndRun(_ shell: Shell, groups: [UInt32], instance: ClientInstance = .one) -> Client {
        let client = attach(shell, groups: groups, instance: instance)
        shell.run()
        return client
    }
}
