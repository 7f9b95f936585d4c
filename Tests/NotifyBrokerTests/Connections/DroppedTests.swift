import NotifyWire
import Testing

@testable import NotifyBroker

/// Messages that clients report as dropped.
struct DroppedTests {
    private let host = TestHost()

    private func received(by client: Client, _ count: Int) {
        client.subscribe(1, ["a"])
        host.run()
        for _ in 0..<count { client.post("a", .volatile) }
        host.run()
    }

    private var total: UInt64? { host.counter("dropped_by_clients") }

    @Test func `a client can't report more messages as dropped than it was sent`() {
        let client = host.connect()
        received(by: client, 3)
        client.send(Dropped(subscription: 1, messages: 2))
        #expect(total == 2)
        client.send(Dropped(subscription: 1, messages: .max))
        #expect(total == 3)
        client.send(Dropped(subscription: 1, messages: .max))
        #expect(total == 3)
        #expect(host.connection(client).counters.droppedByClient == 3)
    }

    @Test func `further subscriptions do not raise the number of messages that a client can report dropped`() {
        let client = host.connect()
        client.subscribe(2, ["a"])
        received(by: client, 3)
        for number in 3...50 as ClosedRange<UInt32> { client.subscribe(number, ["never"]) }
        host.run()
        client.send(Dropped(subscription: 1, messages: 2))
        for number in 2...50 as ClosedRange<UInt32> { client.send(Dropped(subscription: number, messages: .max)) }
        #expect(total == 3)
    }

    @Test func `a client can't report messages as dropped that the daemon has dropped`() {
        let client = host.connect()
        received(by: client, 1)
        client.stopTaking()
        let payload = [UInt8](repeating: 0, count: 1 << 20)
        for _ in 0..<40 {
            client.post("a", payload: payload, .volatile)
            host.run()
        }
        let dropped = host.connection(client).counters.dropped
        #expect(dropped > 0)
        client.makeRoom()
        host.run()
        client.send(Dropped(subscription: 1, messages: .max))
        #expect(total == 41 - dropped)
    }
}
