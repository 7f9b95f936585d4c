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
        host.store.jobs.count { if case .measure = $0 { true } else { false } }
    }

    @Test func `an entry has what is in flight and what is pending`() throws {
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
        host.advance(Backlogs.patience)
        host.runTicks()
        #expect(entries(reader, request).first?.pending?.messages == 0)
        #expect(measures(host) == 1)
    }

    @Test func `a list that has waited for too long is answered without counts`() throws {
        let host = TestHost()
        let (client, other) = (host.connect(), host.connect())
        client.subscribe(1, ["a"], durable: "d", credit: 0)
        host.run()
        client.post("a", .stored)
        host.run()
        let first = request(client)
        host.runTicks()
        host.advance(Backlogs.patience)
        host.runTicks()
        #expect(entries(client, first).map(\.pending) == [nil])
        // Another list waits for the same count.
        let second = request(other)
        host.runTicks()
        #expect(measures(host) == 1)
        host.run()
        #expect(entries(other, second).first?.pending?.messages == 1)
    }

    @Test func `counts are reused for a while and never after five seconds`() throws {
        let host = TestHost()
        let client = host.connect()
        client.subscribe(1, ["a"], durable: "d", credit: 0)
        host.run()
        client.post("a", .stored)
        host.run()
        let first = request(client)
        host.runTicks()
        host.advance(.milliseconds(50))
        host.run()
        #expect(entries(client, first).first?.pending?.messages == 1)
        client.post("a", .stored)
        host.run()
        #expect(list(client, host).first?.pending?.messages == 1, "counted 50 ms ago, in 50 ms")
        host.advance(.seconds(1))
        #expect(list(client, host).first?.pending?.messages == 2)
        host.advance(.milliseconds(5_001))
        let last = request(client)
        host.runTicks()
        host.advance(Backlogs.patience)
        host.runTicks()
        #expect(entries(client, last).map(\.pending) == [nil])
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
