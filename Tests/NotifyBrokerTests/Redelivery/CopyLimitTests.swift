import NotifyLog
import NotifyWire
import Testing
import WireTestSupport

@testable import NotifyBroker

/// The limit of the copies and dead letters of failed messages that a subscription's owner may have.
struct CopyLimitTests {
    private static let payload = 128 << 10

    private func host(storedBytes: Int?) -> TestHost {
        var configuration = BrokerConfiguration()
        configuration.userLimits.general.storedBytes = storedBytes.map { UInt64($0) }
        return TestHost(configuration)
    }

    private func attach(to host: TestHost) -> Client {
        let client = host.connect(uid: 1000)
        client.subscribe(
            1, ["jobs.>"], durable: "jobs", window: 2, settings: DurableSettingChanges(retryDelays: [3_600_000_000]))
        host.run()
        _ = client.take()
        return client
    }

    /// Posts one message of each of `count` users.
    private func post(_ count: Int, to host: TestHost) {
        for uid in 0..<UInt32(count) {
            host.connect(uid: 2000 + uid).post("jobs.a", payload: Array(repeating: 1, count: Self.payload))
        }
        host.run()
    }

    private func failedBytes(_ host: TestHost) -> Int { host.core.broker.ledger.stored.failedBytes(of: 1000) }

    @Test func `a copy counts among the owner's failed bytes until the message is finished`() throws {
        let host = host(storedBytes: nil)
        let client = attach(to: host)
        post(2, to: host)
        let messages = client.takeMessages()
        #expect(messages.count == 2 && failedBytes(host) == 0)
        client.reject(1, messages[0].sequence)
        host.run()
        #expect((Self.payload...Self.payload + 100).contains(failedBytes(host)))
        host.advance(.seconds(3_600))
        host.run()
        #expect(client.takeMessages().map(\.sequence) == [messages[0].sequence])
        client.acknowledge(1, 0...messages[0].sequence)
        host.run()
        #expect(failedBytes(host) == 0)
    }

    @Test func `the removal of a subscription ends the charge for its copies`() throws {
        let host = host(storedBytes: nil)
        let client = attach(to: host)
        post(1, to: host)
        client.reject(1, try #require(client.takeMessages().first).sequence)
        host.run()
        #expect(failedBytes(host) > 0)
        client.detach(1)
        client.send(Remove(request: client.nextRequest(), durableName: "jobs"))
        host.run()
        #expect(failedBytes(host) == 0)
    }

    @Test func `above the owner's share no message is delivered until others are finished`() throws {
        let limit = 12 * Self.payload
        let host = host(storedBytes: limit)
        let client = attach(to: host)
        post(20, to: host)
        var failed: [UInt64] = []
        while true {
            let messages = client.takeMessages()
            if messages.isEmpty { break }
            for message in messages where !failed.contains(message.sequence) {
                client.reject(1, message.sequence)
                failed.append(message.sequence)
                host.run()
                host.advance(.milliseconds(60))
                host.run()
            }
        }
        #expect(host.durable("jobs")?.maximumCopyBytes == Redelivery.bytesWithoutRoom)
        #expect(failedBytes(host) >= limit && failed.count < 20)
        host.advance(.seconds(3_600))
        host.run()
        var finished: Set<UInt64> = []
        while true {
            let messages = client.takeMessages()
            if messages.isEmpty { break }
            for message in messages {
                finished.insert(message.sequence)
                client.acknowledge(1, message.sequence...message.sequence)
            }
            host.run()
            host.advance(.milliseconds(60))
            host.run()
        }
        #expect(finished.count == 20)
        #expect(failedBytes(host) == 0 && host.durable("jobs")?.maximumCopyBytes == Redelivery.maximumBytes)
    }

    @Test func `a deadline is extended although there is no room for further copies`() throws {
        var made = SubscriptionCase(.group)
        try made.attach("A")
        made.deliver()
        made.durable.maximumCopyBytes = 0
        made.durable.extended([11], microseconds: 60_000_000, by: made.index("A"), now: made.time)
        made.pass(.seconds(59))
        #expect(made.summary == "A:again0A")
        made.pass(.seconds(1))
        #expect(made.summary == "a:wait1")
    }

    /// Rejects all messages, and returns the number of messages that were delivered.
    private func rejectAll(_ client: Client, on host: TestHost) -> Int {
        var count = 0
        while true {
            let messages = client.takeMessages()
            if messages.isEmpty { return count }
            count += messages.count
            for message in messages { client.reject(1, message.sequence) }
            host.run()
            host.advance(.milliseconds(60))
            host.run()
        }
    }

    @Test func `copies take at most half of the backlog that a user may hold back`() {
        let host = host(storedBytes: nil)
        host.store.statistics.backlogLimit = UInt64(24 * Self.payload)
        let client = attach(to: host)
        post(30, to: host)
        #expect((12...20).contains(rejectAll(client, on: host)))
        #expect(host.store.batches.last?.copyBytes[1000] ?? 0 >= 12 * Self.payload)
        #expect(host.durable("jobs")?.maximumCopyBytes == Redelivery.bytesWithoutRoom)
    }

    @Test func `the owner's own messages do not count towards the share`() {
        let host = host(storedBytes: 40 * Self.payload)
        let client = attach(to: host)
        for _ in 0..<35 { client.post("other", payload: Array(repeating: 1, count: Self.payload), .stored) }
        post(20, to: host)
        #expect(rejectAll(client, on: host) == 20)
    }

    /// Requests the client's limits, and returns their counters.
    private func limits(_ client: Client, _ host: TestHost) -> [String: UInt64] {
        client.send(LimitsRequest(request: client.nextRequest()))
        host.run()
        let reports = client.take().compactMap { if case .statistics(let report) = $0 { report.counters } else { nil } }
        return Dictionary(uniqueKeysWithValues: reports.joined().map { ($0.name, $0.value) })
    }

    private func isStored(_ client: Client, _ host: TestHost) -> Bool {
        client.post("own", payload: Array(repeating: 1, count: Self.payload), .stored)
        host.run()
        return client.take().contains { if case .receipt = $0 { true } else { false } }
    }

    @Test func `failed messages of other users stop no post of the subscriber, and none is lost`() throws {
        let limit = 8 * Self.payload
        let host = host(storedBytes: limit)
        let client = host.connect(uid: 1000)
        client.subscribe(
            1, ["jobs.>"], durable: "jobs", window: 2,
            settings: DurableSettingChanges(retryDelays: [0], maximumDeliveries: 1))
        host.run()
        _ = client.take()
        post(40, to: host)
        let delivered = rejectAll(client, on: host)
        #expect((8...20).contains(delivered))
        for _ in 0..<7 { #expect(isStored(client, host)) }
        #expect(!isStored(client, host), "the eighth message, with its name and header, is above the limit")
        let figures = limits(client, host)
        #expect(figures["user.1000.failed_bytes"] ?? 0 >= UInt64(limit))
        #expect(figures["user.1000.failed_bytes.limit"] == UInt64(limit))
        #expect((UInt64(7 * Self.payload)...UInt64(limit)).contains(figures["user.1000.stored_bytes"] ?? 0))

        // Messages that have failed too often wait if there is no room for dead letters. Each purge makes room for the
        // next one.
        var letters: Set<UInt64> = []
        var count = delivered
        for _ in 0..<20 {
            letters.formUnion(
                host.store.messages.filter { $0.name == Array("notifyd.dead.1000".utf8) }.map(\.sequence))
            client.send(DeadLetters(request: client.nextRequest(), action: .purge))
            host.run()
            host.advance(.milliseconds(60))
            host.run()
            count += rejectAll(client, on: host)
        }
        #expect(count == 40 && letters.count == 40)
        #expect(failedBytes(host) == 0)
    }

    @Test func `a restart counts dead letters towards the share`() throws {
        let store = FakeStore()
        let host = TestHost(store: store)
        let client = attach(to: host)
        post(1, to: host)
        client.reject(1, try #require(client.takeMessages().first).sequence, .dead)
        host.run()
        host.advance(.milliseconds(60))
        host.run()
        let bytes = failedBytes(host)
        #expect(bytes > Self.payload && host.core.broker.ledger.stored.usage(of: 1000).postedBytes == 0)
        let restarted = TestHost(store: store)
        #expect(failedBytes(restarted) == bytes)
    }
}
