import NotifyCenter
import NotifyLog
import NotifyWire
import Testing
import WireTestSupport

@testable import NotifyBroker

/// The stored messages of each name.
struct SummaryTests {
    /// Makes a host with stored messages: three of "a", one of "b" with a large payload, and one of "user.1000.x".
    private func host() -> (host: TestHost, client: Client, first: UInt64) {
        let host = TestHost()
        let client = host.connect(uid: 1000)
        for _ in 0..<3 { client.post("a", .stored) }
        client.post("b", payload: [UInt8](repeating: 1, count: 1000), .stored)
        client.post("user.1000.x", .stored)
        host.run()
        _ = client.take()
        return (host, client, host.lastSequence - 4)
    }

    private func request(
        _ client: Client, _ patterns: [String] = [">"], first: UInt64 = 1, last: UInt64 = .max,
        maximumNames: UInt32 = 10
    ) -> UInt64 {
        let request = client.nextRequest()
        client.send(
            SummarizeLog(request: request, first: first, last: last, maximumNames: maximumNames, patterns: patterns))
        return request
    }

    private func entries(_ client: Client, _ request: UInt64) -> [StoredNameEntry] {
        var answer = client.take()
        #expect(answer.popLast() == .listEnd(ListEnd(request: request)))
        return answer.compactMap { if case .storedNameEntry(let entry) = $0 { entry } else { nil } }
    }

    /// The codes of the errors that a client receives.
    private func codes(_ client: Client) -> [UInt16] {
        client.take().compactMap { if case .error(let error) = $0 { error.code } else { nil } }
    }

    @Test func `the answer has an entry for each name, in descending order of bytes`() {
        let (host, client, first) = host()
        let sent = request(client)
        host.run()
        let entries = entries(client, sent)
        #expect(entries.map(\.name) == ["b", "a", "user.1000.x"])
        #expect(entries.map(\.messages) == [1, 3, 1])
        #expect(entries[1].first == first && entries[1].last == first + 2)
        #expect(entries[1].firstMicroseconds > 0)
        #expect(host.amount(of: .pendingBytes, 1000) == 0)
    }

    @Test func `the range, the patterns and the number of names limit the answer`() {
        let (host, client, first) = host()
        let some = request(client, ["a"], first: first + 1, last: first + 1)
        host.run()
        #expect(entries(client, some).map(\.messages) == [1])
        let one = request(client, maximumNames: 1)
        host.run()
        let entries = entries(client, one)
        #expect(entries.map(\.name) == ["b", ""] && entries.map(\.messages) == [1, 4])
    }

    @Test func `names that a client may not receive are left out or refused`() {
        let (host, _, _) = host()
        let stranger = host.connect(uid: 2000)
        let all = request(stranger)
        host.run()
        #expect(entries(stranger, all).map(\.name) == ["b", "a"])
        _ = request(stranger, ["user.1000.>"])
        host.run()
        #expect(codes(stranger) == [ErrorCode.forbidden.rawValue])
    }

    @Test func `names that were counted under an earlier policy are counted again`() {
        let (host, client, _) = host()
        let sent = request(client)
        host.runTicks()
        host.core.broker.policyChanged(
            to: AccessPolicy(generation: 1, rules: [AccessRule(.deny, [.subscribe], names: ["a"])]))
        host.run()
        #expect(!entries(client, sent).map(\.name).contains("a"))
    }

    @Test func `a log that can't be read is an error`() {
        let (host, client, _) = host()
        _ = request(client)
        host.runTicks()
        host.work(failingWith: .broken)
        host.run()
        #expect(codes(client) == [ErrorCode.storageFailed.rawValue])
        #expect(host.amount(of: .pendingBytes, 1000) == 0)
    }

    @Test func `the store sums up for one client at a time, even if one has ended`() {
        let (host, client, _) = host()
        let gone = host.connect(uid: 1000)
        _ = request(gone)
        let sent = request(client)
        host.runTicks()
        #expect(host.store.jobs.count == 1)
        host.closed(gone)
        host.run()
        #expect(entries(client, sent).count == 3)
        #expect(host.amount(of: .pendingBytes, 1000) == 0)
    }
}
