import NotifyCenter
import NotifyLog
import NotifyWire
import Testing
import WireTestSupport

@testable import NotifyBroker

/// The generation by which clients tell whether what they remember of deliveries still holds.
struct GenerationTests {
    private func attach(_ shell: Shell) -> (client: Client, generation: UInt64?) {
        let client = shell.connect()
        client.subscribe(1, ["a"], durable: "inbox")
        shell.run()
        let generations = client.take().compactMap {
            if case .subscribed(let frame) = $0 { frame.generation } else { nil }
        }
        return (client, generations.first)
    }

    private func restart(_ shell: Shell, cleanly: Bool) -> Shell {
        if cleanly { shell.store.close(nextSequence: shell.nextSequence) }
        return Shell(store: shell.store)
    }

    @Test(arguments: [true, false])
    func `a restart keeps the generation`(cleanly: Bool) throws {
        var shell = Shell()
        let record = DurableRecord(
            id: shell.store.recovered().nextSubscriptionID, owner: Identity(uid: 1000, gid: 1000), name: "inbox",
            filter: SubscriptionFilter(patterns: [NamePattern("a")]),
            progress: DurableProgress(cursor: 0, seenThrough: 0, generation: 7))
        shell.store.add(.commit(CommitBatch(id: 1 << 40, changes: [.create(record)])))
        _ = shell.store.perform()

        for _ in 0..<3 {
            shell = restart(shell, cleanly: cleanly)
            let (client, generation) = attach(shell)
            #expect(generation == UInt64(record.id.rawValue) << 32 | 7)
            client.post("a", .stored)
            shell.run()
            let last = client.takeMessages().last?.sequence ?? 0
            client.acknowledge(1, last...last)
            if cleanly { shell.closed(client) }
            shell.advance(.seconds(1))
            shell.run()
            #expect(shell.store.subscription(named: "inbox")?.progress.cursor == last)
            #expect(shell.store.subscription(named: "inbox")?.progress.generation == 7)
        }
    }

    @Test(arguments: [true, false])
    func `a subscription created again under the same name has another generation`(restarts: Bool) {
        var shell = Shell()
        var seen: Set<UInt64> = []
        for _ in 0..<4 {
            let (client, generation) = attach(shell)
            #expect(seen.insert(generation ?? 0).inserted)
            shell.closed(client)
            shell.run()
            let remover = shell.connect()
            remover.remove("inbox")
            shell.run()
            #expect(shell.store.subscription(named: "inbox") == nil)
            if restarts { shell = restart(shell, cleanly: seen.count.isMultiple(of: 2)) }
        }
    }
}
