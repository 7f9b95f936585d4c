import WireTestSupport
import NotifyLog
@testable import NotifyBroker
import NotifyWire
import Testing

/// Restarts of the broker after a crash and after a clean stop.
struct RecoveryTests {
    @Test func `messages may be redelivered to a subscription that was attached at a crash`() {
        let store = FakeStore()
        var host = TestHost(store: store)
        let client = host.connect()
        client.subscribe(1, ["a"], durable: "held")
        client.subscribe(2, ["a"], durable: "left")
        host.run()
        client.detach(2)
        host.run()
        for _ in 0..<3 { client.post("a") }
        host.run()
        let seen = client.takeMessages()
        client.acknowledge(1, 0...(seen.first?.sequence ?? 0))
        host.run()

        host = TestHost(store: store)
        let next = host.connect()
        next.subscribe(1, ["a"], durable: "held")
        next.subscribe(2, ["a"], durable: "left")
        host.run()
        let messages = next.takeMessages()
        let held = messages.filter { $0.subscription == 1 }
        let left = messages.filter { $0.subscription == 2 }
        #expect(held.map(\.sequence) == seen.map(\.sequence), "the acknowledgement was not committed")
        #expect(held.allSatisfy { $0.isRedelivery })
        #expect(left.map(\.sequence) == seen.map(\.sequence))
        #expect(left.allSatisfy { !$0.isRedelivery }, "none was delivered before")
        next.post("a")
        host.run()
        #expect(next.takeMessages().allSatisfy { !$0.isRedelivery }, "new messages are not marked")
    }

    @Test func `a message delivered before a crash can be acknowledged once redelivered`() {
        let store = FakeStore()
        var host = TestHost(store: store)
        let client = host.connect()
        client.subscribe(1, ["a"], durable: "inbox")
        host.run()
        for _ in 0..<3 { client.post("a") }
        host.run()
        let seen = client.takeMessages().map(\.sequence)
        host = TestHost(store: store)
        let next = host.connect()
        next.subscribe(1, ["a"], durable: "inbox", credit: 1)
        host.run()
        #expect(next.takeMessages().map(\.sequence) == [seen[0]])
        next.acknowledge(1, 0...seen[2])
        host.run()
        #expect(next.takeErrors().map(\.code) == [ErrorCode.notDelivered.rawValue])
        next.send(Credit(subscription: 1, messages: 10))
        host.run()
        let again = next.takeMessages()
        #expect(again.map(\.sequence) == [seen[1], seen[2]] && again.allSatisfy(\.isRedelivery))
        next.acknowledge(1, 0...seen[2])
        host.advance(.seconds(1))
        host.run()
        #expect(store.subscription(named: "inbox")?.progress.cursor == seen[2])
    }

    @Test func `a subscription keeps the sequence after which it began`() {
        let store = FakeStore()
        let host = TestHost(store: store)
        let client = host.connect()
        for _ in 0..<3 { client.post("a", .stored) }
        host.run()
        client.subscribe(1, ["a"], durable: "inbox")
        client.post("a")
        host.run()
        let next = TestHost(store: store)
        let records = next.core.broker.logContinuation.subscriptions
        #expect(records.map(\.startedAfter) == [3])
    }

    @Test func `no sequence is used twice`() {
        let store = FakeStore()
        var used: Set<UInt64> = []
        for _ in 0..<5 {
            let host = TestHost(store: store)
            let client = host.connect()
            for durability in [Durability.volatile, .stored, .volatile] { client.post("a", durability) }
            host.run()
            client.post("a", .stored)
            host.tick()
            for case .receipt(let receipt) in client.take() {
                #expect(used.insert(receipt.sequence).inserted, "\(receipt.sequence)")
            }
        }
        #expect(used.count == 15)
    }

    @Test func `no sequence is assigned before new sequences are reserved`() {
        let store = FakeStore()
        _ = TestHost(store: store)
        let host = TestHost(store: store, isReady: false)
        #expect(!host.isReady)
        host.tick()
        #expect(host.store.batches.last?.reserveBelow == 1 + 2 * Sequencer.blockSize)
        host.work()
        #expect(host.isReady)
    }

    @Test func `after a clean stop, only messages that were delivered are marked as redeliveries`() {
        let store = FakeStore()
        var host = TestHost(store: store)
        let client = host.connect()
        client.subscribe(1, ["a"], durable: "inbox", window: 1)
        host.run()
        for _ in 0..<2 { client.post("a") }
        host.run()
        #expect(client.takeMessages().count == 1)
        host.drain()
        host.run()
        store.close(nextSequence: host.nextSequence)
        host = TestHost(store: store)
        let next = host.connect()
        next.subscribe(1, ["a"], durable: "inbox")
        host.run()
        #expect(next.takeMessages().map(\.isRedelivery) == [true, false])
    }
}
