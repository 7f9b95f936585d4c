import NotifyWire
import Testing

@testable import NotifyBroker

struct LoggingTests {
    private func events(_ detail: LogDetail) -> [BrokerEvent] {
        let host = TestHost()
        host.core.broker.logDetail = detail
        let client = host.connect(uid: 7, pid: 4711)
        client.subscribe(1, ["a", "b.*"], object: "o", durable: "inbox")
        host.run()
        client.post("x", object: "y", payload: [1, 2], .volatile)
        client.post("user.8.x", .volatile)
        client.acknowledge(1, 5...5)
        host.run()
        client.detach(1)
        client.remove("inbox")
        host.run()
        host.closed(client)
        host.run()
        #expect(host.events.allSatisfy { $0.uid == 7 && $0.pid == 4711 && $0.connection == client.id })
        return host.events
    }

    @Test func `only forbidden requests are logged by default`() {
        let message = "user 7 may not post 'user.8.x': names under user.8 belong to uid 8"
        #expect(events(.none).map(\.kind) == [.forbidden(message: message, omitted: 0)])
    }

    @Test func `the debug level logs connections, subscriptions and refusals`() {
        let kinds = events(.debug).map(\.kind)
        #expect(kinds.count == 7, "\(kinds)")
        #expect(kinds.first == .connected && kinds.last == .disconnected)
        #expect(kinds[1] == .subscribed(number: 1, patterns: ["a", "b.*"], object: "o", durableName: "inbox"))
        guard case .refused(3, .forbidden, let message, false) = kinds[2] else {
            Issue.record("\(kinds[2])")
            return
        }
        #expect(message.contains("user.8.x"))
        guard case .refused(0, .notDelivered, _, false) = kinds[3] else {
            Issue.record("\(kinds[3])")
            return
        }
        #expect(kinds[4] == .detached(number: 1) && kinds[5] == .removed(durableName: "inbox", uid: 7))
    }

    @Test func `the trace level also logs each request`() {
        let kinds = events(.trace).map(\.kind)
        #expect(kinds.contains(.posted(request: 2, name: "x", object: "y", payloadBytes: 2, durability: .volatile)))
        let requests = kinds.compactMap {
            if case .requested(let kind, let request) = $0 { "\(kind) \(request)" } else { nil }
        }
        #expect(requests == ["subscribe 1", "detach 4", "remove 5"])
        #expect(kinds.contains(.received(.acknowledge, subscription: 1)))
    }

    @Test func `a refused subscription is not logged as subscribed`() {
        let host = TestHost()
        let (holder, client) = (host.connect(), host.connect())
        holder.subscribe(1, ["a"], durable: "inbox")
        host.run()
        host.core.broker.logDetail = .debug
        client.subscribe(1, ["a"], durable: "inbox")
        client.subscribe(2, ["a"], durable: "other")
        host.tick()
        host.work(failingWith: .broken)
        host.run()
        let codes = host.events.map { event -> ErrorCode? in
            if case .refused(_, let code, _, false) = event.kind { code } else { nil }
        }
        #expect(codes == [.subscriptionHeld, .storageFailed])
    }

    @Test func `a closed connection is logged with its reason`() {
        let host = TestHost()
        host.core.broker.logDetail = .debug
        let client = host.connect(greets: false)
        client.ping()
        host.run()
        let reasons = host.events.compactMap { event -> ErrorCode? in
            if case .refused(_, let code, _, true) = event.kind { code } else { nil }
        }
        #expect(reasons == [.greetingExpected])
    }
}
