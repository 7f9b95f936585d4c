import WireTestSupport
@testable import NotifyBroker
import NotifyCenter
import NotifyLog
import NotifyWire
import Testing

/// Creating, attaching, taking over, leaving, removing.
struct DurableHoldTests {
    private func code(_ code: ErrorCode) -> [UInt16] { [code.rawValue] }

    @Test func `a creation is confirmed by a flushed commit`() {
        let shell = Shell()
        let client = shell.connect()
        client.subscribe(3, ["b", "a", "b"], durable: "inbox")
        shell.tick()
        #expect(client.inbox.isEmpty)
        #expect(shell.store.batches.last?.isSynced == true)
        shell.work()
        shell.tick()
        #expect(
            client.take() == [
                .subscribed(Subscribed(request: 1, subscription: 3, sequence: 0, generation: 1 << 32, isResumed: false))
            ])
        let record = shell.store.subscription(named: "inbox")
        #expect(record?.filter.patterns.map(\.string) == ["a", "b"])
        #expect(record?.progress.isAttached == true)
    }

    @Test func `no message is delivered before its commit`() {
        let shell = Shell()
        let client = shell.connect()
        client.subscribe(1, ["a"], durable: "inbox")
        shell.run()
        _ = client.take()
        client.post("a")
        shell.tick()
        shell.tick()
        #expect(client.inbox.isEmpty)
        shell.work()
        shell.tick()
        #expect(client.takeMessages().map(\.subscription) == [1])
    }

    @Test func `the start position applies at creation only`() {
        let shell = Shell()
        let poster = shell.connect()
        for _ in 0..<3 { poster.post("a", .stored) }
        shell.run()
        let client = shell.connect()
        client.subscribe(1, ["a"], durable: "new", from: .now)
        client.subscribe(2, ["a"], durable: "old", from: .oldest)
        shell.run()
        #expect(client.takeMessages().map(\.subscription) == [2, 2, 2])
        client.detach(1)
        shell.run()
        client.subscribe(3, ["a"], durable: "new", from: .oldest)
        shell.run()
        #expect(client.takeMessages().isEmpty)
    }

    @Test func `attaching with another filter is a mismatch`() {
        let shell = Shell()
        let client = shell.connect()
        client.subscribe(1, ["a", "b"], object: "o", durable: "inbox")
        shell.run()
        client.detach(1)
        shell.run()
        _ = client.take()
        client.subscribe(2, ["a"], object: "o", durable: "inbox")
        client.subscribe(3, ["a", "b"], durable: "inbox")
        client.subscribe(4, ["b", "a"], object: "o", durable: "inbox")
        shell.run()
        let received = client.take()
        let errors = received.compactMap { if case .error(let error) = $0 { error.code } else { nil } }
        #expect(errors == [62, 62])
        #expect(received.count == 3)
    }

    @Test func `a refused attach reports the pid of the holder`() {
        let shell = Shell()
        let (holder, other) = (shell.connect(pid: 4711), shell.connect())
        holder.subscribe(1, ["a"], durable: "inbox")
        shell.tick()
        other.subscribe(1, ["a"], durable: "inbox")
        shell.run()
        let errors = other.takeErrors()
        #expect(errors.map(\.code) == code(.subscriptionHeld))
        #expect(errors.map(\.detail) == [4711])
        #expect(errors.map(\.request) == [1])
        #expect(shell.connect(uid: 2000).subscribe(1, ["a"], durable: "inbox") == 1, "names are per user")
        shell.run()
        #expect(shell.counter("durable_subscriptions") == 2)
    }

    @Test func `a second attachment on the same connection is refused and the first remains`() {
        let shell = Shell()
        let client = shell.connect(instance: .one)
        client.subscribe(1, ["a"], durable: "inbox")
        shell.run()
        _ = client.take()
        let request = client.subscribe(2, ["a"], durable: "inbox")
        shell.run()
        let errors = client.takeErrors()
        #expect(errors.map(\.code) == code(.subscriptionInUse))
        #expect(errors.map(\.request) == [request])
        client.post("a")
        shell.run()
        #expect(client.takeMessages().map(\.subscription) == [1])
    }

    @Test func `the same client instance takes over its attachment`() {
        let shell = Shell()
        let first = shell.connect(instance: .one)
        first.subscribe(1, ["a"], durable: "inbox")
        shell.run()
        first.post("a")
        shell.run()
        #expect(first.takeMessages().map(\.isRedelivery) == [false])
        let second = shell.connect(instance: .one)
        second.subscribe(9, ["a"], durable: "inbox")
        shell.run()
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
        shell.run()
        #expect(first.takeErrors().map(\.code) == [60, 60], "a late acknowledgement does no harm")
        first.post("a")
        shell.run()
        #expect(second.takeMessages().map(\.subscription) == [9])
        shell.closed(first)
        shell.run()
        #expect(shell.durable("inbox")?.member?.attachment.connection == second.id)
    }

    @Test func `every request to attach is answered`() {
        let shell = Shell()
        let first = shell.connect(instance: .one)
        let second = shell.connect(instance: .one)
        first.subscribe(1, ["a"], durable: "inbox")
        second.subscribe(2, ["a"], durable: "inbox")
        second.detach(2)
        shell.run()
        #expect(first.takeErrors().map(\.request) == [1], "taken over before it was there")
        #expect(
            second.take() == [
                .subscribed(Subscribed(request: 1, subscription: 2, sequence: 0, generation: 1 << 32, isResumed: true)),
                .detached(Detached(request: 2, subscription: 2)),
            ])
        #expect(shell.store.subscription(named: "inbox")?.progress.isAttached == false)
    }

    @Test func `a failed creation leaves no subscription`() {
        let shell = Shell()
        let (first, second) = (shell.connect(instance: .one), shell.connect(instance: .one))
        first.subscribe(1, ["a"], durable: "inbox")
        shell.tick()
        second.subscribe(2, ["a"], durable: "inbox")
        second.ping()
        shell.work(failingWith: .full)
        shell.run()
        #expect(first.takeErrors().map(\.request) == [1])
        let errors = second.takeErrors()
        #expect(errors.map(\.request) == [1])
        #expect(errors.map(\.code) == code(.logFull))
        #expect(shell.counter("durable_subscriptions") == 0)
        #expect(shell.amount(of: .durableSubscriptions, 1000) == 0)
        second.subscribe(2, ["b"], durable: "inbox")
        shell.run()
        #expect(second.takeErrors().isEmpty)
        #expect(shell.store.subscriptions.count == 1)
    }

    /// A removal that waits behind a creation that fails must not free the place of whoever came to it since.
    @Test func `a removal after a failed creation does not affect other subscriptions`() {
        let shell = Shell()
        let client = shell.connect()
        client.subscribe(1, ["a"], durable: "first")
        shell.tick()
        shell.closed(client)
        let other = shell.connect(Peer(uid: 1000, gid: 1000, pid: 1), greeting: nil)
        other.send(Hello(instance: .two))
        other.remove("first")
        shell.tick()
        shell.work(failingWith: .broken)
        other.subscribe(1, ["a"], durable: "second")
        shell.run()
        #expect(other.take().contains(.removed(Removed(request: 1))))
        #expect(shell.counter("durable_subscriptions") == 1)
        other.subscribe(2, ["a"], durable: "third")
        shell.run()
        other.post("a")
        shell.run()
        #expect(other.takeMessages().map(\.subscription).sorted() == [1, 2])
        #expect(shell.amount(of: .durableSubscriptions, 1000) == 2)
    }

    @Test func `a failed attach leaves the subscription free`() {
        let shell = Shell()
        let first = shell.connect()
        first.subscribe(1, ["a"], durable: "inbox")
        shell.run()
        shell.closed(first)
        shell.run()
        let second = shell.connect()
        second.subscribe(1, ["a"], durable: "inbox")
        shell.tick()
        shell.work(failingWith: .broken)
        shell.tick()
        let errors = second.takeErrors()
        #expect(errors.map(\.code) == code(.storageFailed))
        #expect(errors.map(\.subscription) == [1])
        second.subscribe(1, ["a"], durable: "inbox")
        shell.run()
        #expect(
            second.take() == [
                .subscribed(Subscribed(request: 2, subscription: 1, sequence: 0, generation: 1 << 32, isResumed: true))
            ])
    }

    // MARK: Leaving

    @Test func `detaching is confirmed once its acknowledgements are committed`() {
        let shell = Shell()
        let client = shell.connect()
        client.subscribe(1, ["a"], durable: "inbox")
        shell.run()
        client.post("a")
        shell.run()
        let sequence = client.takeMessages().first?.sequence ?? 0
        client.acknowledge(1, 0...sequence)
        client.detach(1)
        shell.tick()
        #expect(client.inbox.isEmpty)
        #expect(shell.store.subscription(named: "inbox")?.progress.cursor == 0)
        shell.work()
        shell.tick()
        #expect(client.take() == [.detached(Detached(request: 3, subscription: 1))])
        #expect(
            shell.store.subscription(named: "inbox")?.progress
                == DurableProgress(cursor: sequence, seenThrough: sequence))
    }

    @Test func `a detach that can't be committed is reported and retried`() {
        let shell = Shell()
        let client = shell.connect()
        client.subscribe(1, ["a"], durable: "inbox")
        shell.run()
        _ = client.take()
        client.detach(1)
        shell.tick()
        shell.work(failingWith: .broken)
        shell.tick()
        let errors = client.takeErrors()
        #expect(errors.map(\.request) == [2])
        #expect(errors.map(\.subscription) == [1])
        #expect(shell.store.subscription(named: "inbox")?.progress.isAttached == true)
        shell.advance(.seconds(1))
        shell.run()
        #expect(shell.store.subscription(named: "inbox")?.progress.isAttached == false)
    }

    @Test func `closing a connection detaches its durable subscriptions`() {
        let shell = Shell()
        let first = shell.connect(instance: .one)
        first.subscribe(1, ["a"], durable: "inbox", window: 2)
        shell.run()
        for _ in 0..<3 { first.post("a") }
        shell.run()
        let sequences = first.takeMessages().map(\.sequence)
        #expect(sequences.count == 2)
        shell.closed(first)
        let second = shell.connect(instance: .two)
        second.subscribe(1, ["a"], durable: "inbox")
        shell.run()
        let messages = second.takeMessages()
        #expect(Array(messages.map(\.sequence).prefix(2)) == sequences)
        #expect(messages.map(\.isRedelivery) == [true, true, false])
    }

    // MARK: Removing

    @Test func `an attached durable subscription is not removed`() {
        let shell = Shell()
        let (holder, other) = (shell.connect(), shell.connect())
        holder.subscribe(1, ["a"], durable: "inbox")
        shell.run()
        other.remove("inbox")
        other.remove("outbox")
        other.remove("in box")
        shell.run()
        #expect(other.takeErrors().map(\.code) == [61, 60, 24])
        #expect(shell.store.subscriptions.count == 1)
    }

    @Test func `a removal is confirmed by its commit`() {
        let shell = Shell()
        let client = shell.connect()
        client.subscribe(1, ["a"], durable: "inbox")
        shell.run()
        client.detach(1)
        shell.run()
        _ = client.take()
        client.remove("inbox")
        client.remove("inbox")
        client.subscribe(2, ["a"], durable: "inbox")
        shell.tick()
        #expect(client.takeErrors().map(\.code) == [61, 61], "nobody's while it is being removed")
        shell.work(failingWith: .broken)
        shell.tick()
        #expect(client.takeErrors().map(\.code) == code(.storageFailed))
        client.remove("inbox")
        shell.run()
        #expect(client.take() == [.removed(Removed(request: 6))])
        #expect(shell.store.subscriptions.isEmpty)
        client.post("a")
        shell.run()
        #expect(shell.store.messages.isEmpty, "nobody is left to store it for")
        client.subscribe(2, ["z"], durable: "inbox")
        shell.run()
        #expect(shell.store.subscriptions.keys.sorted() == [DurableID(2)], "under an id of its own")
    }

    /// Progress that went along with a removal that failed is still to be persisted.
    @Test func `progress committed with a failed removal is persisted later`() {
        let shell = Shell()
        let client = shell.connect()
        client.subscribe(1, ["a"], durable: "inbox")
        shell.run()
        client.post("a")
        shell.run()
        let sequence = client.takeMessages().first?.sequence ?? 0
        client.acknowledge(1, 0...sequence)
        shell.closed(client)
        let other = shell.connect(Peer(uid: 1000, gid: 1000, pid: 1), greeting: nil)
        other.send(Hello(instance: .two))
        other.remove("inbox")
        shell.tick()
        shell.work(failingWith: .broken)
        shell.advance(.seconds(1))
        shell.run()
        #expect(
            shell.store.subscription(named: "inbox")?.progress
                == DurableProgress(cursor: sequence, seenThrough: sequence))
    }
}
