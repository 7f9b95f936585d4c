import NotifyCenter
import NotifyLog
import NotifyWire
import Testing
import WireTestSupport

@testable import NotifyBroker

/// The generation of a durable subscription, by which clients detect whether their record of deliveries is still valid.
struct GenerationTests {
    private func attach(_ host: TestHost) -> (client: Client, generation: UInt64?) {
        let client = host.connect()
        client.subscribe(1, ["a"], durable: "inbox")
        host.run()
        let generations = client.take().compactMap {
            if case .subscribed(let frame) = $0 { frame.generation } else { nil }
        }
        return (client, generations.first)
    }

    private func restart(_ host: TestHost, cleanly: Bool) -> TestHost {
        if cleanly { host.store.close(nextSequence: host.nextSequence) }
        return TestHost(store: host.store)
    }

    @Test(arguments: [true, false])
    func `the generation survives a restart`(cleanly: Bool) throws {
        var host = TestHost()
        let record = DurableRecord(
            id: host.store.recovered().nextSubscriptionID, owner: Identity(uid: 1000, gid: 1000), name: "inbox",
            filter: SubscriptionFilter(patterns: [NamePattern("a")]), startedAfter: 0,
            progress: DurableProgress(cursor: 0, seenThrough: 0, generation: 7))
        host.store.add(.commit(CommitBatch(id: 1 << 40, changes: [.create(record)])))
        _ = host.store.perform()

        for _ in 0..<3 {
            host = restart(host, cleanly: cleanly)
            let (client, generation) = attach(host)
            #expect(generation == UInt64(record.id.rawValue) << 32 | 7)
            client.post("a", .stored)
            host.run()
            let last = client.takeMessages().last?.sequence ?? 0
            client.acknowledge(1, last...last)
            if cleanly { host.closed(client) }
            host.advance(.seconds(1))
            host.run()
            #expect(host.store.subscription(named: "inbox")?.progress.cursor == last)
            #expect(host.store.subscription(named: "inbox")?.progress.generation == 7)
        }
    }

    @Test(arguments: [true, false])
    func `a subscription created again under the same name has another generation`(restarts: Bool) {
        var host = TestHost()
        var seen: Set<UInt64> = []
        for _ in 0..<4 {
            let (client, generation) = attach(host)
            #expect(seen.insert(generation ?? 0).inserted)
            host.closed(client)
            host.run()
            let remover = host.connect()
            remover.remove("inbox")
            host.run()
            #expect(host.store.subscription(named: "inbox") == nil)
            if restarts { host = restart(host, cleanly: seen.count.isMultiple(of: 2)) }
        }
    }

    @Test func `a reset of a subscription whose creation fails is refused`() {
        let host = TestHost()
        let (creator, other) = (host.connect(), host.connect())
        creator.subscribe(1, ["a"], durable: "d")
        host.tick()
        other.send(Reset(request: other.nextRequest(), durableName: "d", to: .now))
        host.tick()
        host.work(failingWith: .full)
        host.advance(.seconds(10))
        host.run()
        #expect(other.takeErrors().map(\.code) == [ErrorCode.unknownSubscription.rawValue])
        #expect(host.store.subscriptions.isEmpty && host.durables.isEmpty)
    }
}
