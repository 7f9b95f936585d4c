import NotifyCenter
import NotifyLog
import NotifyWire
import Testing
import WireTestSupport

@testable import NotifyBroker

/// Requests that wait until the store has found the first message since a time.
struct TimeSearchTests {
    /// The searches that the store has not answered.
    private func searches(_ host: TestHost) -> [UInt64] {
        host.store.jobs.compactMap { if case .findSequence(let time)? = $0.work { time } else { nil } }
    }

    private func codes(_ client: Client) -> [UInt16] { client.takeErrors().map(\.code) }

    @Test func `requests after a search wait for its answer`() {
        let (host, sequences, times) = TestHost.withMessages()
        let client = host.connect()
        client.subscribe(1, ["a"], durable: "d", from: .time(microseconds: times[4]))
        let detach = client.detach(1)
        host.runTicks()
        #expect(client.take().isEmpty)
        #expect(host.durables.isEmpty, "nothing is created before the start is found")
        host.run()
        let received = client.take()
        guard case .subscribed(let subscribed)? = received.first, case .detached(let detached)? = received.last else {
            Issue.record("\(received)")
            return
        }
        #expect(subscribed.sequence == sequences[4] - 1)
        #expect(detached.request == detach)
        #expect(host.connection(client).pauses.isEmpty)
    }

    @Test func `the store performs one search at a time`() {
        let (host, _, times) = TestHost.withMessages()
        let clients = (0..<3).map { _ in host.connect() }
        for (index, client) in clients.enumerated() {
            client.subscribe(1, ["a"], durable: "d\(index)", from: .time(microseconds: times[index]))
        }
        for time in times.prefix(3) {
            host.runTicks()
            #expect(searches(host) == [time])
            while !searches(host).isEmpty { host.work() }
        }
        host.run()
        #expect(clients.map { $0.takeMessages().count } == [5, 4, 3])
    }

    @Test(arguments: [false, true])
    func `a connection may fail or close while the store searches`(_ isClosed: Bool) {
        let (host, _, times) = TestHost.withMessages()
        let (client, waiting, other) = (host.connect(), host.connect(), host.connect())
        for (name, client) in [("d", client), ("w", waiting), ("o", other)] {
            client.subscribe(1, ["a"], durable: name, from: .time(microseconds: times[0]))
        }
        host.runTicks()
        for client in [client, waiting] {
            if isClosed {
                host.closed(client)
            } else {
                client.stopTaking()
                host.core.broker.fail(client.id.slot, WireError(.malformedFrame, "broken"), now: host.now)
            }
        }
        host.run()
        for client in [client, waiting] {
            client.makeRoom()
            host.run()
            #expect(client.take().allSatisfy { if case .error = $0 { true } else { false } })
        }
        #expect(host.durables.map(\.name) == ["o"])
        #expect(other.takeMessages().count == 5)
        #expect(host.amount(of: .pendingBytes, 1000) == 0)
    }

    @Test func `a waiting request is charged to its user`() {
        let host = TestHost()
        let client = host.connect()
        let patterns = (0..<64).map { "\($0)." + String(repeating: "x", count: 240) }
        client.subscribe(1, patterns, durable: "d", from: .age(microseconds: 1))
        #expect(host.amount(of: .pendingBytes, 1000) > 64 * 240)
        host.run()
        client.remove("d")
        host.closed(client)
        host.run()
        #expect(host.amount(of: .pendingBytes, 1000) == 0)
    }

    @Test(arguments: [false, true])
    func `a subscription that two connections request during a search is created once`(_ isSameInstance: Bool) {
        let (host, sequences, times) = TestHost.withMessages()
        let instances: [InstanceID] = [.next(), .next()]
        let first = host.connect(instance: instances[0])
        let second = host.connect(instance: instances[isSameInstance ? 0 : 1])
        first.subscribe(1, ["a"], durable: "d", from: .time(microseconds: times[1]))
        second.subscribe(1, ["a"], durable: "d", from: .time(microseconds: times[3]))
        host.run()
        #expect(host.durables.count == 1)
        #expect(host.store.subscription(named: "d")?.startedAfter == sequences[1] - 1)
        if isSameInstance {
            #expect(codes(first) == [ErrorCode.takenOver.rawValue])
            #expect(second.takeMessages().map(\.sequence) == Array(sequences[1...]))
        } else {
            #expect(codes(second) == [ErrorCode.subscriptionHeld.rawValue])
            #expect(first.takeMessages().map(\.sequence) == Array(sequences[1...]))
        }
    }

    @Test func `a request whose rights are revoked during the search is refused`() {
        let (host, _, times) = TestHost.withMessages()
        let client = host.connect()
        client.subscribe(1, ["a"], durable: "d", from: .time(microseconds: times[0]))
        host.runTicks()
        let rule = AccessRule(.deny, [.subscribe], names: ["a"])
        host.core.broker.policyChanged(to: AccessPolicy(generation: 1, rules: [rule]))
        host.run()
        #expect(codes(client) == [ErrorCode.forbidden.rawValue])
        #expect(host.durables.isEmpty)
        #expect(host.connection(client).pauses.isEmpty)
    }

    @Test func `a failed search refuses the request`() {
        let (host, _, times) = TestHost.withMessages()
        let client = host.connect()
        client.subscribe(1, ["a"], durable: "d", from: .time(microseconds: times[0]))
        host.runTicks()
        host.work(failingWith: .broken)
        host.runTicks()
        #expect(codes(client) == [ErrorCode.storageFailed.rawValue])
        #expect(host.healthChanges == ["the disk is broken"])
        #expect(host.durables.isEmpty)
        #expect(host.connection(client).pauses.isEmpty)
    }

    @Test func `a search without an answer is a problem of the store`() {
        let (host, _, times) = TestHost.withMessages()
        let client = host.connect()
        client.subscribe(1, ["a"], durable: "d", from: .time(microseconds: times[0]))
        host.runTicks()
        host.advance(StorageHealth.responseTimeout - .milliseconds(1))
        #expect(host.healthChanges.isEmpty)
        host.advance(.milliseconds(1))
        #expect(host.healthChanges == ["the disk did not respond within 10 s"])
        host.run()
        #expect(client.takeMessages().count == 5)
    }

    @Test func `a daemon that stops refuses requests that wait for a search`() {
        let (host, _, times) = TestHost.withMessages()
        let clients = [host.connect(), host.connect()]
        for (index, client) in clients.enumerated() {
            client.subscribe(1, ["a"], durable: "d\(index)", from: .time(microseconds: times[0]))
        }
        host.runTicks()
        host.drain()
        host.run()
        #expect(host.isDrained)
        for client in clients {
            let received = client.take()
            guard case .error(let error)? = received.first, case .closing(let closing)? = received.last else {
                Issue.record("\(received)")
                continue
            }
            #expect(error.code == ErrorCode.closing.rawValue && error.request == closing.lastRequest)
        }
        #expect(host.durables.isEmpty)
        #expect(host.amount(of: .pendingBytes, 1000) == 0)
    }
}
