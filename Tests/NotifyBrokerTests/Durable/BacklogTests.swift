import NotifyLog
import NotifyWire
import Testing
import WireTestSupport

@testable import NotifyBroker

/// Lists of durable subscriptions with their unacknowledged messages.
struct BacklogTests {
    private func request(_ client: Client) -> UInt64 {
        _ = client.take()
        let request = client.nextRequest()
        client.send(ListRequest(request: request, subject: .backlogs))
        return request
    }

    private func list(_ client: Client, _ host: TestHost) -> [DurableEntry] {
        let request = request(client)
        host.run()
        return entries(client, request)
    }

    private func entries(_ client: Client, _ request: UInt64) -> [DurableEntry] {
        var answer = client.take()
        #expect(answer.popLast() == .listEnd(ListEnd(request: request)))
        return answer.compactMap { if case .durableEntry(let entry) = $0 { entry } else { nil } }
    }

    private func measures(_ host: TestHost) -> Int {
        host.store.jobs.count { if case .measureBacklogs? = $0.work { true } else { false } }
    }

    @Test func `an entry counts the messages in flight and the pending ones`() throws {
        let host = TestHost()
        let (poster, reader) = (host.connect(), host.connect(pid: 20))
        reader.subscribe(1, ["a.*"], durable: "d", window: 2)
        host.run()
        for _ in 0..<5 { poster.post("a.b", .stored) }
        poster.post("c", .stored)
        host.run()
        host.advance(.seconds(3))
        let entry = try #require(list(poster, host).first)
        #expect(entry.uid == 1000 && entry.pid == 20 && entry.durableName == "d" && entry.patterns == ["a.*"])
        #expect(entry.inFlight == 2)
        #expect(entry.pending?.messages == 5)
        #expect(entry.pending?.oldestMicroseconds == 1_700_000_000_000_000)
        #expect(entry.lost == 0)
    }

    @Test func `a subscription that has caught up has nothing pending before the store counts`() throws {
        let host = TestHost()
        let reader = host.connect()
        reader.subscribe(1, ["a"], durable: "d")
        host.run()
        let request = request(reader)
        host.runTicks()
        #expect(reader.take().isEmpty, "the list waits for the store")
        host.advance(Backlogs.longPatience)
        host.runTicks()
        #expect(entries(reader, request).first?.pending?.messages == 0)
        #expect(measures(host) == 1)
    }

    @Test(arguments: [false, true])
    func `a message that waits for its redelivery can be the oldest`(hasLater: Bool) throws {
        let host = TestHost()
        let (poster, reader) = (host.connect(), host.connect(pid: 20))
        reader.subscribe(1, ["a"], durable: "d", window: 10)
        host.run()
        poster.post("a", .stored)
        host.run()
        host.advance(.seconds(3))
        if hasLater { poster.post("a", .stored) }
        host.run()
        reader.reject(1, 1, delay: .seconds(100))
        host.run()
        host.advance(.seconds(1))
        host.run()
        let entry = try #require(list(poster, host).first)
        #expect(entry.waiting == 1)
        #expect(entry.pending?.messages == (hasLater ? 2 : 1))
        #expect(entry.pending?.oldestMicroseconds == 1_700_000_000_000_000)
    }

    /// A host with a subscription that has not acknowledged a message.
    private func hostWithBacklog() -> (TestHost, Client) {
        let host = TestHost()
        let client = host.connect()
        client.subscribe(1, ["a"], durable: "d", credit: 0)
        host.run()
        client.post("a", .stored)
        host.run()
        return (host, client)
    }

    /// Requests a list, advances the time while the store counts, and lets the store end the count.
    ///
    /// - Returns: The pending messages in the list; nil if the list was not answered before the end of the count.
    private func listDuringCount(_ client: Client, _ host: TestHost, for duration: Duration) -> [UInt64?]? {
        let request = request(client)
        host.runTicks()
        host.advance(duration)
        host.runTicks()
        let answer = client.take()
        defer { host.run() }
        guard answer.last == .listEnd(ListEnd(request: request)) else { return nil }
        return answer.compactMap {
            if case .durableEntry(let entry) = $0 { .some(entry.pending?.messages) } else { nil }
        }
    }

    @Test func `the first list waits for the first count for a bounded time`() throws {
        let (host, client) = hostWithBacklog()
        let other = host.connect()
        let first = request(client)
        host.runTicks()
        host.advance(Backlogs.longPatience - .milliseconds(1))
        host.runTicks()
        #expect(client.take().isEmpty)
        let second = request(other)
        host.runTicks()
        host.advance(.milliseconds(1))
        host.runTicks()
        #expect(entries(client, first).map(\.pending) == [nil])
        // Another list waits for the same count.
        #expect(other.take().isEmpty && measures(host) == 1)
        host.run()
        #expect(entries(other, second).first?.pending?.messages == 1)
    }

    @Test func `counts are reused for a while`() throws {
        let (host, client) = hostWithBacklog()
        let first = request(client)
        host.runTicks()
        host.advance(.milliseconds(50))
        host.run()
        #expect(entries(client, first).first?.pending?.messages == 1)
        client.post("a", .stored)
        host.run()
        #expect(list(client, host).first?.pending?.messages == 1, "the store counted 50 ms ago, in 50 ms")
        host.advance(.seconds(1))
        #expect(list(client, host).first?.pending?.messages == 2)
    }

    @Test func `slow counts are shown until there are newer ones`() throws {
        let (host, client) = hostWithBacklog()
        #expect(listDuringCount(client, host, for: .seconds(8)) == [nil])
        for round in UInt64(1)...3 {
            client.post("a", .stored)
            host.run()
            #expect(listDuringCount(client, host, for: Backlogs.patience) == [round], "the earlier count is shown")
            host.advance(.seconds(4))
            #expect(list(client, host).first?.pending?.messages == round + 1)
            host.advance(.seconds(4))
        }
    }

    @Test func `a list waits longer if its counts are old, and reports no counts of a minute ago`() {
        let (host, client) = hostWithBacklog()
        #expect(list(client, host).first?.pending?.messages == 1)
        host.advance(.seconds(6))
        #expect(listDuringCount(client, host, for: Backlogs.patience) == nil)
        host.advance(.seconds(6))
        #expect(listDuringCount(client, host, for: Backlogs.longPatience) == [1])
        host.advance(.seconds(61))
        #expect(listDuringCount(client, host, for: Backlogs.longPatience) == [nil])
    }

    @Test func `a waiting list of a connection that ends is dropped`() {
        let host = TestHost()
        let client = host.connect()
        _ = request(client)
        host.runTicks()
        host.closed(client)
        let other = host.connect()
        host.run()
        #expect(other.take().isEmpty)
        #expect(list(other, host).isEmpty)
    }
}
