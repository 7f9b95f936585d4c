import WireTestSupport
import NotifyLog
@testable import NotifyBroker
import NotifyWire
import Testing

/// Starts after a crash and after a stop.
struct RecoveryTests {
    @Test func `messages may be redelivered to a subscription that was attached at a crash`() {
        let store = FakeStore()
        var shell = Shell(store: store)
        let client = shell.connect()
        client.subscribe(1, ["a"], durable: "held")
        client.subscribe(2, ["a"], durable: "left")
        shell.run()
        client.detach(2)
        shell.run()
        for _ in 0..<3 { client.post("a") }
        shell.run()
        let seen = client.takeMessages()
        client.acknowledge(1, 0...(seen.first?.sequence ?? 0))
        shell.run()

        shell = Shell(store: store)
        let next = shell.connect()
        next.subscribe(1, ["a"], durable: "held")
        next.subscribe(2, ["a"], durable: "left")
        shell.run()
        let messages = next.takeMessages()
        let held = messages.filter { $0.subscription == 1 }
        let left = messages.filter { $0.subscription == 2 }
        #expect(held.map(\.sequence) == seen.map(\.sequence), "the acknowledgement was not committed")
        #expect(held.allSatisfy { $0.isRedelivery })
        #expect(left.map(\.sequence) == seen.map(\.sequence))
        #expect(left.allSatisfy { !$0.isRedelivery }, "nobody had it")
        next.post("a")
        shell.run()
        #expect(next.takeMessages().allSatisfy { !$0.isRedelivery }, "new ones were not seen")
    }

    @Test func `a message delivered before a crash can be acknowledged once redelivered`() {
        let store = FakeStore()
        var shell = Shell(store: store)
        let client = shell.connect()
        client.subscribe(1, ["a"], durable: "inbox")
        shell.run()
        for _ in 0..<3 { client.post("a") }
        shell.run()
        let seen = client.takeMessages().map(\.sequence)
        shell = Shell(store: store)
        let next = shell.connect()
        next.subscribe(1, ["a"], durable: "inbox", credit: 1)
        shell.run()
        #expect(next.takeMessages().map(\.sequence) == [seen[0]])
        next.acknowledge(1, 0...seen[2])
        shell.run()
        #expect(next.takeErrors().map(\.code) == [ErrorCode.notDelivered.rawValue])
        next.send(Credit(subscription: 1, messages: 10))
        shell.run()
        let again = next.takeMessages()
        #expect(again.map(\.sequence) == [seen[1], seen[2]] && again.allSatisfy(\.isRedelivery))
        next.acknowledge(1, 0...seen[2])
        shell.advance(.seconds(1))
        shell.run()
        #expect(store.subscription(named: "inbox")?.progress.cursor == seen[2])
    }

    @Test func `no sequence is used twice`() {
        let store = FakeStore()
        var used: Set<UInt64> = []
        for _ in 0..<5 {
            let shell = Shell(store: store)
            let client = shell.connect()
            for durability in [Durability.volatile, .stored, .volatile] { client.post("a", durability) }
            shell.run()
            client.post("a", .stored)
            shell.tick()
            for case .receipt(let receipt) in client.take() {
                #expect(used.insert(receipt.sequence).inserted, "\(receipt.sequence)")
            }
        }
        #expect(used.count == 15)
    }

    @Test func `no sequence is assigned before the new block is reserved`() {
        let store = FakeStore()
        _ = Shell(store: store)
        let shell = Shell(store: store, isReady: false)
        #expect(!shell.isReady)
        shell.tick()
        #expect(shell.store.batches.last?.reserveBelow == 1 + 2 * Sequencer.blockSize)
        shell.work()
        #expect(shell.isReady)
    }

    @Test func `no redelivery is assumed after a clean stop`() {
        let store = FakeStore()
        var shell = Shell(store: store)
        let client = shell.connect()
        client.subscribe(1, ["a"], durable: "inbox", window: 1)
        shell.run()
        for _ in 0..<2 { client.post("a") }
        shell.run()
        #expect(client.takeMessages().count == 1)
        shell.drain()
        shell.run()
        store.close(nextSequence: shell.nextSequence)
        shell = Shell(store: store)
        let next = shell.connect()
        next.subscribe(1, ["a"], durable: "inbox")
        shell.run()
        #expect(next.takeMessages().map(\.isRedelivery) == [true, false])
    }
}
