import WireTestSupport
import NotifyLog
@testable import NotifyBroker
import NotifyWire
import Testing

struct DrainTests {
    @Test func `a drain commits received posts and notifies all connections`() {
        let shell = Shell()
        let (poster, idle) = (shell.connect(), shell.connect())
        let silent = shell.connect(greets: false)
        poster.subscribe(1, ["a"], durable: "inbox")
        shell.run()
        _ = poster.take()
        poster.post("a", .stored)
        shell.tick()
        poster.post("a", .synced)
        shell.drain()
        poster.post("a", .stored)
        poster.ping()
        shell.tick()
        #expect(!shell.isDrained)
        #expect(poster.inbox.isEmpty, "nothing is told before it is committed")
        shell.run()
        #expect(shell.isDrained)
        let received = poster.take()
        #expect(received.last == .closing(Closing(lastRequest: 3)))
        let receipts = received.compactMap { if case .receipt(let receipt) = $0 { receipt.request } else { nil } }
        #expect(receipts == [2, 3])
        #expect(received.count == 3, "what came afterwards was not processed: \(received)")
        #expect(idle.take() == [.closing(Closing(lastRequest: 0))])
        #expect(silent.take() == [.closing(Closing(lastRequest: 0))])
        #expect(shell.store.messages.count == 2)
        #expect(shell.store.subscription(named: "inbox")?.progress.isAttached == false)
    }

    @Test func `every request before a drain is answered`() {
        let shell = Shell()
        let client = shell.connect()
        client.subscribe(1, ["a"], durable: "inbox")
        client.subscribe(2, ["a"], durable: "other")
        client.detach(2)
        shell.drain()
        shell.run()
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
        let shell = Shell()
        shell.drain()
        let early = shell.connect(greets: false)
        early.send(Hello(instance: .one))
        shell.run()
        let late = shell.connect(greets: false)
        late.send(Hello(instance: .one))
        shell.run()
        for client in [early, late] { #expect(client.take() == [.closing(Closing(lastRequest: 0))]) }
    }

    @Test func `a second drain request has no effect`() {
        let shell = Shell()
        let client = shell.connect()
        shell.drain()
        shell.drain()
        shell.run()
        shell.drain()
        shell.run()
        #expect(client.take() == [.closing(Closing(lastRequest: 0))])
    }

    @Test func `a failing store does not delay the drain`() {
        let shell = Shell()
        let client = shell.connect()
        client.post("a", .stored)
        shell.drain()
        shell.tick()
        shell.work(failingWith: .full)
        shell.tick()
        #expect(shell.isDrained)
        let received = client.take()
        #expect(received.count == 2)
        #expect(received.last == .closing(Closing(lastRequest: 1)))
    }

    @Test func `a drain waits for the batch in flight`() {
        let shell = Shell()
        let client = shell.connect()
        client.post("a", .stored)
        shell.tick()
        shell.drain()
        shell.tick()
        #expect(!shell.isDrained)
        shell.work()
        shell.tick()
        #expect(!shell.isDrained, "progress goes with one more batch")
        shell.work()
        shell.tick()
        #expect(shell.isDrained)
    }

    @Test func `a restart after a drain continues with the exact sequence`() {
        let store = FakeStore()
        var shell = Shell(store: store)
        let client = shell.connect()
        client.post("a", .volatile)
        client.post("a", .stored)
        shell.run()
        shell.drain()
        shell.run()
        store.close(nextSequence: shell.nextSequence)
        shell = Shell(store: store)
        let next = shell.connect()
        next.post("a", .volatile)
        shell.run()
        #expect(
            next.take() == [
                .receipt(Receipt(request: 1, sequence: 3, subscribers: 0, stored: 0, durability: .volatile))
            ])
    }
}
