import WireTestSupport
@testable import NotifyBroker
import NotifyCenter
import NotifyLog
import NotifyWire
import Testing

/// Creating, attaching, taking over, detaching and removing durable subscriptions.
struct DurableHoldTests {
    private func code(_ code: ErrorCode) -> [UInt16] { [code.rawValue] }

    /// A host, and a client whose acknowledgement of a message is not stored yet.
    private func acknowledging() -> (host: TestHost, client: Client, sequence: UInt64) {
        let host = TestHost()
        let client = host.connect()
        client.subscribe(1, ["a"], durable: "inbox")
        host.run()
        client.post("a")
        host.run()
        let sequence = client.takeMessages().first?.sequence ?? 0
        client.acknowledge(1, 0...sequence)
        return (host, client, sequence)
    }

    @Test func `a creation is confirmed after its commit is flushed`() {
        let host = TestHost()
        let client = host.connect()
        client.subscribe(3, ["b", "a", "b"], durable: "inbox")
        host.tick()
        #expect(client.inbox.isEmpty)
        #expect(host.store.batches.last?.isSynced == true)
        host.work()
        host.tick()
        #expect(
            client.take() == [
                .subscribed(Subscribed(request: 1, subscription: 3, sequence: 0, generation: 1 << 32, isResumed: false))
            ])
        let record = host.store.subscription(named: "inbox")
        #expect(record?.filter.patterns.map(\.string) == ["a", "b"])
        #expect(record?.progress.isAttached == true)
    }

    @Test func `no message is delivered before its commit`() {
        let host = TestHost()
        let client = host.connect()
        client.subscribe(1, ["a"], durable: "inbox")
        host.run()
        _ = client.take()
        client.post("a")
        host.tick()
        host.tick()
        #expect(client.inbox.isEmpty)
        host.work()
        host.tick()
        #expect(client.takeMessages().map(\.subscription) == [1])
    }

    @Test func `the start position applies at creation only`() {
        let host = TestHost()
        let poster = host.connect()
        for _ in 0..<3 { poster.post("a", .stored) }
        host.run()
        let client = host.connect()
        client.subscribe(1, ["a"], durable: "new", from: .now)
        client.subscribe(2, ["a"], durable: "old", from: .oldest)
        host.run()
        #expect(client.takeMessages().map(\.subscription) == [2, 2, 2])
        client.detach(1)
        host.run()
        client.subscribe(3, ["a"], durable: "new", from: .oldest)
        host.run()
        #expect(client.takeMessages().isEmpty)
    }

    @Test func `attaching with another filter is refused`() {
        let host = TestHost()
        let client = host.connect()
        client.subscribe(1, ["a", "b"], object: "o", durable: "inbox")
        host.run()
        client.detach(1)
        host.run()
        _ = client.take()
        client.subscribe(2, ["a"], object: "o", durable: "inbox")
        client.subscribe(3, ["a", "b"], durable: "inbox")
        client.subscribe(4, ["b", "a"], object: "o", durable: "inbox")
        host.run()
        let received = client.take()
        let errors = received.compactMap { if case .error(let error) = $0 { error.code } else { nil } }
        #expect(errors == [62, 62])
        #expect(received.count == 3)
    }

    @Test func `a refused attach reports the pid of the holder`() {
        let host = TestHost()
        let (holder, other) = (host.connect(pid: 4711), host.connect())
        holder.subscribe(1, ["a"], durable: "inbox")
        host.tick()
        other.subscribe(1, ["a"], durable: "inbox")
        host.run()
        let errors = other.takeErrors()
        #expect(errors.map(\.code) == code(.subscriptionHeld))
        #expect(errors.map(\.detail) == [4711])
        #expect(errors.map(\.request) == [1])
        #expect(host.connect(uid: 2000).subscribe(1, ["a"], durable: "inbox") == 1, "names are per user")
        host.run()
        #expect(host.counter("durable_subscriptions") == 2)
    }

    @Test func `a second attachment on the same connection is refused and the first remains`() {
        let host = TestHost()
        let client = host.connect(instance: .one)
        client.subscribe(1, ["a"], durable: "inbox")
        host.run()
        _ = client.take()
        let request = client.subscribe(2, ["a"], durable: "inbox")
        host.run()
        let errors = client.takeErrors()
        #expect(errors.map(\.code) == code(.subscriptionInUse))
        #expect(errors.map(\.request) == [request])
        client.post("a")
        host.run()
        #expect(client.takeMessages().map(\.subscription) == [1])
    }

    @Test func `another connection of the same client instance takes over the attachment`() {
        let host = TestHost()
        let first = host.connect(instance: .one)
        first.subscribe(1, ["a"], durable: "inbox")
        host.run()
        first.post("a")
        host.run()
        #expect(first.takeMessages().map(\.isRedelivery) == [false])
        let second = host.connect(instance: .one)
        second.subscribe(9, ["a"], durable: "inbox")
        host.run()
        let errors = first.takeErrors()
        #expect(errors.map(\.code) == code(.takenOver))
        #expect(errors.map(\.subscription) == [1])
        #expect(errors.map(\.request) == [0])
        let received = second.take()
        #expect(
            received.first
                == .subscribed(
                    Subscribed(request: 1, subscription: 9, sequence: 0, generation: 1 << 32, isResumed: true)))
        guard case .message(let message)? = received.last else {
            Issue.record("\(received)")
            return
        }
        #expect(message.isRedelivery && message.subscription == 9)
        first.acknowledge(1, 0...message.sequence)
        first.send(Credit(subscription: 1, messages: 1))
        host.run()
        #expect(first.takeErrors().map(\.code) == [60, 60], "a late acknowledgement has no effect")
        first.post("a")
        host.run()
        #expect(second.takeMessages().map(\.subscription) == [9])
        host.closed(first)
        host.run()
        #expect(host.durable("inbox")?.firstMember?.attachment.connection == second.id)
    }

    @Test func `every request to attach is answered`() {
        let host = TestHost()
        let first = host.connect(instance: .one)
        let second = host.connect(instance: .one)
        first.subscribe(1, ["a"], durable: "inbox")
        second.subscribe(2, ["a"], durable: "inbox")
        second.detach(2)
        host.run()
        #expect(first.takeErrors().map(\.request) == [1], "taken over before the attachment was committed")
        #expect(
            second.take() == [
                .subscribed(Subscribed(request: 1, subscription: 2, sequence: 0, generation: 1 << 32, isResumed: true)),
                .detached(Detached(request: 2, subscription: 2)),
            ])
        #expect(host.store.subscription(named: "inbox")?.progress.isAttached == false)
    }

    @Test func `a failed creation leaves no subscription`() {
        let host = TestHost()
        let (first, second) = (host.connect(instance: .one), host.connect(instance: .one))
        first.subscribe(1, ["a"], durable: "inbox")
        host.tick()
        second.subscribe(2, ["a"], durable: "inbox")
        second.ping()
        host.work(failingWith: .full)
        host.run()
        #expect(first.takeErrors().map(\.request) == [1])
        let errors = second.takeErrors()
        #expect(errors.map(\.request) == [1])
        #expect(errors.map(\.code) == code(.logFull))
        #expect(host.counter("durable_subscriptions") == 0)
        #expect(host.amount(of: .durableSubscriptions, 1000) == 0)
        second.subscribe(2, ["b"], durable: "inbox")
        host.run()
        #expect(second.takeErrors().isEmpty)
        #expect(host.store.subscriptions.count == 1)
    }

    /// A removal that was pending when the creation failed must not free the slot later, because another subscription
    /// may have reused the slot.
    @Test func `a removal after a failed creation does not affect other subscriptions`() {
        let host = TestHost()
        let client = host.connect()
        client.subscribe(1, ["a"], durable: "first")
        host.tick()
        host.closed(client)
        let other = host.connect(Peer(uid: 1000, gid: 1000, pid: 1), greeting: nil)
        other.send(Hello(instance: .two))
        other.remove("first")
        host.tick()
        host.work(failingWith: .broken)
        other.subscribe(1, ["a"], durable: "second")
        host.run()
        #expect(other.take().contains(.removed(Removed(request: 1))))
        #expect(host.counter("durable_subscriptions") == 1)
        other.subscribe(2, ["a"], durable: "third")
        host.run()
        other.post("a")
        host.run()
        #expect(other.takeMessages().map(\.subscription).sorted() == [1, 2])
        #expect(host.amount(of: .durableSubscriptions, 1000) == 2)
    }

    @Test func `a failed attach leaves the subscription free`() {
        let host = TestHost()
        let first = host.connect()
        first.subscribe(1, ["a"], durable: "inbox")
        host.run()
        host.closed(first)
        host.run()
        let second = host.connect()
        second.subscribe(1, ["a"], durable: "inbox")
        host.tick()
        host.work(failingWith: .broken)
        host.tick()
        let errors = second.takeErrors()
        #expect(errors.map(\.code) == code(.storageFailed))
        #expect(errors.map(\.subscription) == [1])
        second.subscribe(1, ["a"], durable: "inbox")
        host.run()
        #expect(
            second.take() == [
                .subscribed(Subscribed(request: 2, subscription: 1, sequence: 0, generation: 1 << 32, isResumed: true))
            ])
    }

    // MARK: Detaching

    @Test func `a detach is confirmed after the client's acknowledgements are committed`() {
        let (host, client, sequence) = acknowledging()
        client.detach(1)
        host.tick()
        #expect(client.inbox.isEmpty)
        #expect(host.store.subscription(named: "inbox")?.progress.cursor == 0)
        host.work()
        host.tick()
        #expect(client.take() == [.detached(Detached(request: 3, subscription: 1))])
        #expect(
            host.store.subscription(named: "inbox")?.progress
                == DurableProgress(cursor: sequence, seenThrough: sequence))
    }

    @Test func `a detach that can't be committed is reported and retried`() {
        let host = TestHost()
        let client = host.connect()
        client.subscribe(1, ["a"], durable: "inbox")
        host.run()
        _ = client.take()
        client.detach(1)
        host.tick()
        host.work(failingWith: .broken)
        host.tick()
        let errors = client.takeErrors()
        #expect(errors.map(\.request) == [2])
        #expect(errors.map(\.subscription) == [1])
        #expect(host.store.subscription(named: "inbox")?.progress.isAttached == true)
        host.advance(.seconds(1))
        host.run()
        #expect(host.store.subscription(named: "inbox")?.progress.isAttached == false)
    }

    @Test func `closing a connection detaches its durable subscriptions`() {
        let host = TestHost()
        let first = host.connect(instance: .one)
        first.subscribe(1, ["a"], durable: "inbox", window: 2)
        host.run()
        for _ in 0..<3 { first.post("a") }
        host.run()
        let sequences = first.takeMessages().map(\.sequence)
        #expect(sequences.count == 2)
        host.closed(first)
        let second = host.connect(instance: .two)
        second.subscribe(1, ["a"], durable: "inbox")
        host.run()
        let messages = second.takeMessages()
        #expect(Array(messages.map(\.sequence).prefix(2)) == sequences)
        #expect(messages.map(\.isRedelivery) == [true, true, false])
    }

    // MARK: Removing

    /// Connects a client, and creates a durable subscription to which no client is attached.
    private func connectWithDetachedInbox(_ host: TestHost) -> Client {
        let client = host.connect()
        client.subscribe(1, ["a"], durable: "inbox")
        host.run()
        client.detach(1)
        host.run()
        _ = client.take()
        return client
    }

    @Test func `an attached durable subscription is not removed`() {
        let host = TestHost()
        let (holder, other) = (host.connect(), host.connect())
        holder.subscribe(1, ["a"], durable: "inbox")
        host.run()
        other.remove("inbox")
        other.remove("outbox")
        other.remove("in box")
        host.run()
        #expect(other.takeErrors().map(\.code) == [61, 60, 24])
        #expect(host.store.subscriptions.count == 1)
    }

    @Test func `a removal is confirmed after its commit`() {
        let host = TestHost()
        let client = connectWithDetachedInbox(host)
        client.remove("inbox")
        host.tick()
        #expect(client.take().isEmpty)
        host.work(failingWith: .broken)
        host.tick()
        #expect(client.takeErrors().map(\.code) == code(.storageFailed))
        let again = client.remove("inbox")
        host.run()
        #expect(client.take() == [.removed(Removed(request: again))])
        #expect(host.store.subscriptions.isEmpty)
        client.post("a")
        host.run()
        #expect(host.store.messages.isEmpty, "no durable subscription is left that keeps the message")
        client.subscribe(2, ["z"], durable: "inbox")
        host.run()
        #expect(host.store.subscriptions.keys.sorted() == [DurableID(2)], "the subscription has a new id")
    }

    @Test func `requests for a subscription that is being removed wait for the outcome`() {
        let host = TestHost()
        let (client, other) = (connectWithDetachedInbox(host), host.connect())
        client.remove("inbox")
        other.remove("inbox")
        other.subscribe(2, ["z"], durable: "inbox")
        client.ping()
        host.tick()
        #expect(other.take().isEmpty, "the requests wait")
        #expect(client.take().count == 1, "other requests do not wait")
        host.run()
        #expect(other.takeErrors().map(\.code) == code(.unknownSubscription))
        #expect(host.store.subscriptions.keys.sorted() == [DurableID(2)])
    }

    /// The progress is in the same batch as the removal, and must be persisted later although this batch fails.
    @Test func `progress that failed together with a removal is persisted later`() {
        let (host, client, sequence) = acknowledging()
        host.closed(client)
        let other = host.connect(Peer(uid: 1000, gid: 1000, pid: 1), greeting: nil)
        other.send(Hello(instance: .two))
        other.remove("inbox")
        host.tick()
        host.work(failingWith: .broken)
        host.advance(.seconds(1))
        host.run()
        #expect(
            host.store.subscription(named: "inbox")?.progress
                == DurableProgress(cursor: sequence, seenThrough: sequence))
    }
}
