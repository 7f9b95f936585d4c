import WireTestSupport
import NotifyLog
@testable import NotifyBroker
import NotifyWire
import Testing

struct DrainTests {
    @Test func `a drain commits received posts and notifies all connections`() {
        let host = TestHost()
        let (poster, idle) = (host.connect(), host.connect())
        let silent = host.connect(greets: false)
        poster.subscribe(1, ["a"], durable: "inbox")
        host.run()
        _ = poster.take()
        poster.post("a", .stored)
        host.tick()
        poster.post("a", .synced)
        host.drain()
        poster.post("a", .stored)
        poster.ping()
        host.tick()
        #expect(!host.isDrained)
        #expect(poster.inbox.isEmpty, "no receipt precedes the commit")
        host.run()
        #expect(host.isDrained)
        let received = poster.take()
        #expect(received.last == .closing(Closing(lastRequest: 3)))
        let receipts = received.compactMap { if case .receipt(let receipt) = $0 { receipt.request } else { nil } }
        #expect(receipts == [2, 3])
        #expect(received.count == 3, "later requests were not processed: \(received)")
        #expect(idle.take() == [.closing(Closing(lastRequest: 0))])
        #expect(silent.take() == [.closing(Closing(lastRequest: 0))])
        #expect(host.store.messages.count == 2)
        #expect(host.store.subscription(named: "inbox")?.progress.isAttached == false)
    }

    @Test func `every request before a drain is answered`() {
        let host = TestHost()
        let client = host.connect()
        client.subscribe(1, ["a"], durable: "inbox")
        client.subscribe(2, ["a"], durable: "other")
        client.detach(2)
        host.drain()
        host.run()
        let received = client.take()
        #expect(
            received.contains(
                .subscribed(Subscribed(request: 1, subscription: 1, sequence: 0, generation: 1 << 32, isResumed: false))
            ))
        #expect(
            received.contains(
                .subscribed(Subscribed(request: 2, subscription: 2, sequence: 0, generation: 2 << 32, isResumed: false))
            ))
        #expect(received.contains(.detached(Detached(request: 3, subscription: 2))))
        #expect(received.last == .closing(Closing(lastRequest: 3)))
    }

    @Test func `a connection opened during a drain is notified once`() {
        let host = TestHost()
        host.drain()
        let early = host.connect(greets: false)
        early.send(Hello(instance: .one))
        host.run()
        let late = host.connect(greets: false)
        late.send(Hello(instance: .one))
        host.run()
        for client in [early, late] { #expect(client.take() == [.closing(Closing(lastRequest: 0))]) }
    }

    @Test func `a second drain request has no effect`() {
        let host = TestHost()
        let client = host.connect()
        host.drain()
        host.drain()
        host.run()
        host.drain()
        host.run()
        #expect(client.take() == [.closing(Closing(lastRequest: 0))])
    }

    @Test func `a failing store does not delay the drain`() {
        let host = TestHost()
        let client = host.connect()
        client.post("a", .stored)
        host.drain()
        host.tick()
        host.work(failingWith: .full)
        host.tick()
        #expect(host.isDrained)
        let received = client.take()
        #expect(received.count == 2)
        #expect(received.last == .closing(Closing(lastRequest: 1)))
    }

    @Test func `a drain waits for the batch in flight`() {
        let host = TestHost()
        let client = host.connect()
        client.post("a", .stored)
        host.tick()
        host.drain()
        host.tick()
        #expect(!host.isDrained)
        host.work()
        host.tick()
        #expect(!host.isDrained, "progress is committed in another batch")
        host.work()
        host.tick()
        #expect(host.isDrained)
    }

    @Test func `a restart after a drain continues with the exact sequence`() {
        let store = FakeStore()
        var host = TestHost(store: store)
        let client = host.connect()
        client.post("a", .volatile)
        client.post("a", .stored)
        host.run()
        host.drain()
        host.run()
        store.close(nextSequence: host.nextSequence)
        host = TestHost(store: store)
        let next = host.connect()
        next.post("a", .volatile)
        host.run()
        #expect(
            next.take() == [
                .receipt(Receipt(request: 1, sequence: 3, subscribers: 0, stored: 0, durability: .volatile))
            ])
    }
}
