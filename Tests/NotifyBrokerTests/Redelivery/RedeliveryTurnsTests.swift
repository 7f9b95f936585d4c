import NotifyWire
import Testing
import WireTestSupport

@testable import NotifyBroker

/// Many durable subscriptions that wait for copies of messages in the same turn of the event loop.
struct RedeliveryTurnsTests {
    /// Makes a host whose client attaches to several durable subscriptions with the next commit, in the order of
    /// `areDue`. A subscription for which the value is true has a message that is due. The others need no copy.
    private func attach(_ areDue: [Bool]) -> (host: TestHost, client: Client) {
        let host = TestHost()
        let first = host.connect()
        subscribe(first, areDue)
        host.run()
        host.connect().post("due")
        host.run()
        for message in first.takeMessages() { first.reject(message.subscription, message.sequence, delay: .zero) }
        host.runTicks()
        host.closed(first)
        host.advance(.milliseconds(60))
        host.run()
        let restarted = TestHost(store: host.store)
        // The messages become due.
        restarted.advance(.zero)
        let client = restarted.connect()
        subscribe(client, areDue)
        restarted.runTicks()
        return (restarted, client)
    }

    private func subscribe(_ client: Client, _ areDue: [Bool]) {
        for (number, isDue) in areDue.enumerated() {
            client.subscribe(UInt32(number + 1), [isDue ? "due" : "other"], durable: "d\(number)")
        }
    }

    @Test(arguments: [(0, 1), (63, 1), (64, 2), (127, 2), (128, 3), (200, 4)])
    func `at most 64 subscriptions are visited in a turn, and the next turn continues`(
        _ others: Int, _ turns: Int
    ) {
        let (host, client) = attach(Array(repeating: false, count: others) + [true])
        #expect(host.store.redeliveryReads == 0)
        host.work()
        for turn in 1...turns {
            #expect(host.store.redeliveryReads == 0 && (turn == 1 || host.wantsTick))
            host.tick()
        }
        #expect(host.store.redeliveryReads == 1)
        host.run()
        #expect(client.takeMessages().map(\.subscription) == [UInt32(others + 1)])
    }

    @Test func `each waiting subscription is served once, in turn`() {
        let areDue = (0..<300).map { $0 % 3 == 0 || $0 > 200 }
        let (host, client) = attach(areDue)
        host.run()
        let messages = client.takeMessages()
        #expect(messages.map(\.subscription) == areDue.indices.filter { areDue[$0] }.map { UInt32($0 + 1) })
        #expect(messages.allSatisfy { $0.delivery == 2 })
    }
}
