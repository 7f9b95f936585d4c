import NIOCore
import NotifyCenter
import NotifyLog
import NotifyWire
import Testing
import WireTestSupport

@testable import NotifyBroker

/// Requests to servers: each is answered once, by the server that holds it or by the daemon.
struct AskingTests {
    /// A client of uid 1001 that asks, and one of uid 1000 that serves `jobs.*`.
    private func pair(
        concurrency: UInt32 = 1, _ configuration: BrokerConfiguration = BrokerConfiguration()
    ) -> (host: TestHost, asker: Client, server: Client) {
        let rules = [AccessRule(.allow, [.serve], names: ["jobs.>"], uids: [1000])]
        let host = TestHost(configuration, policy: AccessPolicy(rules: rules))
        let (asker, server) = (host.connect(uid: 1001, pid: 11), host.connect(uid: 1000, pid: 22))
        server.serve(1, ["jobs.*"], concurrency: concurrency)
        host.run()
        _ = server.take()
        return (host, asker, server)
    }

    private func codes(_ client: Client) -> [ErrorCode?] { client.takeErrors().map { ErrorCode(rawValue: $0.code) } }

    private func reply(_ request: UInt64, _ payload: [UInt8] = [], headers: [UInt8] = []) -> Received {
        .serviceReply(
            ServiceReply(
                request: request, uid: 1000, gid: 1000, pid: 22, headers: ByteBuffer(bytes: headers),
                payload: ByteBuffer(bytes: payload)))
    }

    @Test func `a request has the asker's ids, and its reply the server's`() throws {
        let (host, asker, server) = pair()
        let headers = try HeaderList.encode([("k", "v")])
        let request = asker.ask("jobs.status", headers: headers, payload: [1, 2], timeout: .milliseconds(1_500))
        host.run()
        let call = try #require(server.takeCalls().first)
        #expect(call.server == 1 && call.timeoutMilliseconds == 1_500)
        #expect(call.name == "jobs.status" && call.headers == headers && call.payload == [1, 2])
        #expect((call.stamp.uid, call.stamp.gid, call.stamp.pid) == (1001, 1001, 11))
        #expect(call.stamp.timeMicroseconds == 1_700_000_000_000_000)
        server.respond(call.call, headers: headers, payload: [3])
        host.run()
        #expect(asker.take() == [reply(request, [3], headers: headers)])
        #expect(server.take().isEmpty)
        #expect(host.counter("requests") == 1 && host.counter("open_requests") == 0)
        #expect(host.amount(of: .requests, 1001) == 0 && host.amount(of: .requestBytes, 1001) == 0)
        #expect(host.nextDeadline == .milliseconds(1_500), "the deadline of an answered request is only skipped")
        host.advance(.seconds(2))
        #expect(host.nextDeadline == nil && asker.take().isEmpty)
    }

    @Test func `a request that no server serves is refused at once`() {
        let (host, asker, server) = pair()
        server.subscribe(2, [">"])
        asker.ask("other")
        host.run()
        #expect(codes(asker) == [.noResponders])
        #expect(server.takeMessages().isEmpty, "subscriptions get no requests")
        #expect(host.amount(of: .requests, 1001) == 0)
    }

    @Test func `invalid requests are refused`() {
        var configuration = BrokerConfiguration()
        configuration.maximumPayloadBytes = 4
        let (host, asker, server) = pair(concurrency: 1, configuration)
        asker.ask("jobs..a")
        asker.ask("jobs.*")
        asker.ask("user.1.a")
        asker.ask("notifyd.a")
        asker.ask("jobs.a", payload: [1, 2, 3, 4, 5])
        asker.ask("jobs.a", headers: [9])
        asker.ask("jobs.a", timeout: .zero)
        asker.ask("jobs.a", timeout: .seconds(3600) + .milliseconds(1))
        host.run()
        #expect(
            codes(asker) == [
                .invalidName, .invalidName, .forbidden, .forbidden, .payloadTooLarge, .invalidHeaders,
                .invalidArgument, .invalidArgument,
            ])
        asker.ask("jobs.a", payload: [1, 2, 3, 4], timeout: .seconds(3600))
        host.run()
        #expect(server.takeCalls().count == 1)
    }

    @Test func `an error of the server reaches the asker as text`() throws {
        let (host, asker, server) = pair()
        asker.ask("jobs.a")
        host.run()
        server.respond(try #require(server.takeCalls().first).call, .failed, payload: Array("no such job".utf8))
        host.run()
        let error = try #require(asker.takeErrors().first)
        #expect(error.code == ErrorCode.requestFailed.rawValue && error.message == "no such job")
    }

    @Test func `an invalid reply is an error of the server, and ends the call`() throws {
        var configuration = BrokerConfiguration()
        configuration.maximumPayloadBytes = 4
        let (host, asker, server) = pair(concurrency: 1, configuration)
        for _ in 0..<3 { asker.ask("jobs.a") }
        host.run()
        server.respond(try #require(server.takeCalls().first).call, payload: [1, 2, 3, 4, 5])
        host.run()
        #expect(codes(asker) == [.requestFailed])
        let received = server.take()
        guard case .serviceCall(let call)? = received.first, case .error(let error)? = received.last else {
            Issue.record("unexpected: \(received)")
            return
        }
        #expect(received.count == 2 && error.code == ErrorCode.payloadTooLarge.rawValue)
        server.respond(call.call, headers: [9])
        host.run()
        #expect(codes(asker) == [.requestFailed])
        #expect(server.take().count == 2 && host.counter("open_requests") == 1)
    }

    @Test func `a server holds at most its concurrency, and the others wait in order`() throws {
        let (host, asker, server) = pair(concurrency: 2)
        for number in 1...5 as ClosedRange<UInt8> { asker.ask("jobs.a", payload: [number]) }
        host.run()
        var calls = server.takeCalls()
        #expect(calls.map(\.payload) == [[1], [2]])
        server.respond(calls[1].call)
        host.run()
        calls = [calls[0]] + server.takeCalls()
        #expect(calls.map(\.payload) == [[1], [3]])
        for call in calls { server.respond(call.call) }
        host.run()
        #expect(server.takeCalls().map(\.payload) == [[4], [5]])
        #expect(asker.take().count == 3)
    }

    @Test func `the server with the most room gets the next request, and equal ones take turns`() {
        let (host, asker, first) = pair(concurrency: 2)
        let second = host.connect(uid: 1000)
        second.serve(9, ["jobs.*"], concurrency: 4)
        host.run()
        _ = second.take()
        for number in 1...6 as ClosedRange<UInt8> { asker.ask("jobs.a", payload: [number]) }
        host.run()
        #expect(second.takeCalls().map(\.payload) == [[1], [2], [4], [6]])
        #expect(first.takeCalls().map(\.payload) == [[3], [5]])
    }

    @Test func `servers of one user with different patterns share the names that both match`() {
        let (host, asker, first) = pair()
        let second = host.connect(uid: 1000)
        for number in 1...3 as ClosedRange<UInt8> { asker.ask("jobs.a", payload: [number]) }
        host.run()
        #expect(first.takeCalls().map(\.payload) == [[1]])
        second.serve(1, ["jobs.a", "jobs.b.c"])
        host.run()
        #expect(second.takeCalls().map(\.payload) == [[2]], "a new server gets what waits")
        asker.ask("jobs.b")
        host.closed(first)
        host.run()
        #expect(codes(asker) == [.serverGone, .noResponders], "the second server does not serve 'jobs.b'")
    }

    @Test func `only the connection that holds a call can answer it, and only once`() throws {
        let (host, asker, server) = pair()
        let thief = host.connect(uid: 1000)
        thief.serve(1, ["user.1000.x"])
        asker.ask("jobs.a")
        host.run()
        let call = try #require(server.takeCalls().first)
        for client in [thief, asker] { client.respond(call.call, payload: [6]) }
        host.run()
        #expect(asker.takeErrors().map(\.code) == [ErrorCode.unknownCall.rawValue])
        #expect(codes(thief) == [.unknownCall])
        server.respond(call.call, payload: [1])
        server.respond(call.call, payload: [2])
        server.respond(call.call &+ 1 << 32)
        server.respond(.max)
        host.run()
        #expect(asker.take() == [reply(1, [1])])
        #expect(codes(server) == [.unknownCall, .unknownCall, .unknownCall])
    }

    @Test func `the end of a server answers the requests that it holds, and only those`() {
        let (host, asker, server) = pair(concurrency: 2)
        let second = host.connect(uid: 1000)
        second.serve(1, ["jobs.*"])
        host.run()
        for number in 1...4 as ClosedRange<UInt8> { asker.ask("jobs.a", payload: [number]) }
        host.run()
        host.closed(server)
        host.run()
        #expect(codes(asker) == [.serverGone, .serverGone])
        #expect(second.takeCalls().count == 1 && host.counter("open_requests") == 2)
        host.closed(second)
        host.run()
        #expect(codes(asker) == [.serverGone, .noResponders], "the last one was not handed out")
        #expect(host.amount(of: .requests, 1001) == 0)
    }

    @Test func `the time limit ends waiting requests, and those that a server holds`() throws {
        let (host, asker, server) = pair()
        asker.ask("jobs.a", timeout: .seconds(2))
        asker.ask("jobs.a", timeout: .seconds(1))
        host.run()
        let call = try #require(server.takeCalls().first)
        host.advance(.milliseconds(999))
        #expect(asker.take().isEmpty)
        host.advance(.milliseconds(1))
        let waited = try #require(asker.takeErrors().first)
        #expect(waited.request == 2 && waited.code == ErrorCode.timedOut.rawValue)
        #expect(waited.message.contains("was not executed"))
        host.advance(.seconds(1))
        let held = try #require(asker.takeErrors().first)
        #expect(held.request == 1 && held.message.contains("may have been executed"))
        #expect(server.take() == [.serviceCallEnded(ServiceCallEnded(call: call.call))])
        asker.ask("jobs.a")
        host.run()
        #expect(server.take().isEmpty, "the ended call counts until the server has responded")
        server.respond(call.call, payload: [1])
        host.run()
        #expect(server.takeCalls().count == 1)
        #expect(asker.take().isEmpty, "a late response is discarded")
    }

    @Test func `a cancelled request is answered, and its server is told`() throws {
        let (host, asker, server) = pair()
        let (held, waiting) = (asker.ask("jobs.a"), asker.ask("jobs.a"))
        host.run()
        let call = try #require(server.takeCalls().first)
        for request in [waiting, held, held, 99] { asker.send(CancelAsk(request: request)) }
        host.run()
        #expect(asker.takeErrors().map(\.request) == [waiting, held])
        #expect(server.take() == [.serviceCallEnded(ServiceCallEnded(call: call.call))])
        server.respond(call.call)
        host.run()
        #expect(asker.take().isEmpty && host.counter("open_requests") == 0)
    }

    @Test func `a request that is given back goes to another server, in its old place`() throws {
        let (host, asker, first) = pair()
        asker.ask("jobs.a", payload: [1])
        asker.ask("jobs.a", payload: [2])
        host.run()
        let call = try #require(first.takeCalls().first)
        let second = host.connect(uid: 1000)
        first.endServing(1)
        first.respond(call.call, .returned)
        host.run()
        #expect(codes(asker) == [.noResponders, .noResponders])
        second.serve(1, ["jobs.*"])
        first.serve(2, ["jobs.*"])
        asker.ask("jobs.a", payload: [3])
        host.run()
        let holder = second.takeCalls()
        #expect(holder.map(\.payload) == [[3]])
        asker.ask("jobs.a", payload: [4])
        host.run()
        _ = first.takeCalls()
        asker.ask("jobs.a", payload: [5])
        second.respond(holder[0].call, .returned)
        host.run()
        #expect(second.takeCalls().map(\.payload) == [[5]], "the returned one does not come back")
        #expect(host.counter("open_requests") == 3)
        host.closed(first)
        host.run()
        #expect(codes(asker) == [.serverGone, .noResponders])
    }

    @Test func `requests that are given back wait in the order in which they were asked`() throws {
        let (host, asker, first) = pair(concurrency: 3)
        for payload in 1...3 { asker.ask("jobs.a", payload: [UInt8(payload)]) }
        host.run()
        let calls = first.takeCalls()
        let second = host.connect(uid: 1000)
        second.serve(1, ["jobs.*"])
        for payload in 4...6 { asker.ask("jobs.a", payload: [UInt8(payload)]) }
        host.run()
        for index in [2, 0, 1] { first.respond(calls[index].call, .returned) }
        host.run()
        var held: [[UInt8]] = []
        for _ in 1...4 {
            let call = try #require(second.takeCalls().first)
            held.append(call.payload)
            second.respond(call.call)
            host.run()
        }
        #expect(held == [[4], [1], [2], [3]])
    }

    @Test func `a server that leaves answers what it holds, and gets nothing new`() throws {
        let (host, asker, server) = pair(concurrency: 2)
        asker.ask("jobs.a")
        host.run()
        let call = try #require(server.takeCalls().first)
        server.endServing(1)
        asker.ask("jobs.a")
        server.respond(call.call, payload: [7])
        host.run()
        #expect(codes(asker).isEmpty == false)
        #expect(server.takeCalls().isEmpty)
        #expect(host.connection(server).servers.isEmpty)
    }

    @Test func `the end of an asker ends its requests`() throws {
        let (host, asker, server) = pair()
        for _ in 0..<3 { asker.ask("jobs.a") }
        host.run()
        let call = try #require(server.takeCalls().first)
        host.closed(asker)
        host.run()
        #expect(server.take() == [.serviceCallEnded(ServiceCallEnded(call: call.call))])
        #expect(host.holdsNothing(1001))
        server.respond(call.call)
        host.run()
        #expect(host.counter("open_requests") == 0 && server.take().isEmpty)
    }

    @Test func `the requests of a user are limited in number and bytes`() {
        var configuration = BrokerConfiguration()
        configuration.requestsPerUser = 3
        configuration.requestBytesPerUser = 4_000
        let (host, asker, server) = pair(concurrency: 1, configuration)
        let other = host.connect(uid: 1001)
        for _ in 0..<2 { asker.ask("jobs.a") }
        for _ in 0..<2 { other.ask("jobs.a") }
        host.run()
        #expect(codes(other) == [.limitReached] && codes(asker).isEmpty)
        host.closed(other)
        asker.ask("jobs.a", payload: [UInt8](repeating: 0, count: 4_000))
        host.run()
        #expect(codes(asker) == [.limitReached])
        #expect(server.takeCalls().count == 1)
    }

    @Test func `an asker whose peer sends nothing more gets its reply before the end`() throws {
        let (host, asker, server) = pair()
        asker.endInput(after: askFrame(1, "jobs.a", timeout: .seconds(1)))
        host.run()
        #expect(!asker.isClosed)
        server.respond(try #require(server.takeCalls().first).call)
        host.run()
        #expect(asker.take() == [reply(1)] && asker.isClosed)
    }

    @Test func `a server whose peer sends nothing more is gone, even if it waits for an answer`() {
        let (host, asker, server) = pair()
        let other = host.connect(uid: 1000)
        other.serve(1, ["user.1000.x"])
        server.ask("user.1000.x")
        asker.ask("jobs.a")
        host.run()
        server.endInput()
        host.run()
        #expect(codes(asker) == [.serverGone] && !server.isClosed)
        asker.ask("jobs.a")
        host.run()
        #expect(codes(asker) == [.noResponders])
    }

    @Test func `a server that does not read gets no further calls until it reads`() {
        let (host, asker, server) = pair(concurrency: 16)
        server.stopTaking()
        for _ in 0..<16 { asker.ask("jobs.a", payload: [UInt8](repeating: 0, count: 100_000)) }
        host.run()
        #expect(host.core.broker.egress[server.id.slot].unreadAnswerBytes < 600_000)
        server.makeRoom()
        host.run()
        #expect(server.takeCalls().count == 16)
    }

    @Test func `an asker that does not read its replies loses those that exceed its memory`() throws {
        var configuration = BrokerConfiguration()
        configuration.memoryBytes = 8 << 20
        let (host, asker, server) = pair(concurrency: 16, configuration)
        asker.stopTaking()
        for _ in 0..<16 { asker.ask("jobs.a") }
        host.run()
        for call in server.takeCalls() { server.respond(call.call, payload: [UInt8](repeating: 0, count: 1 << 20)) }
        host.run()
        #expect(host.core.broker.ledger.bytes(of: 1001) < 5 << 20)
        asker.makeRoom()
        host.run()
        let answers = asker.take()
        #expect(answers.count == 16)
        let refused = answers.compactMap { if case .error(let error) = $0 { error.code } else { nil } }
        #expect(refused.count > 10 && Set(refused) == [ErrorCode.requestFailed.rawValue])
    }

    @Test func `a drain answers all requests`() throws {
        let (host, asker, server) = pair()
        for _ in 0..<2 { asker.ask("jobs.a") }
        host.run()
        host.drain()
        host.run()
        let answers = asker.take()
        #expect(answers.count == 3 && answers.last == .closing(Closing(lastRequest: 2)))
        let errors = answers.compactMap {
            if case .error(let error) = $0 { ErrorCode(rawValue: error.code) } else { nil }
        }
        #expect(errors == [.serverGone, .closing])
        #expect(server.take().count == 3, "a call, its end, and closing")
    }

    @Test func `monitors show requests and refused ones`() throws {
        let (host, asker, _) = pair()
        let monitor = host.connect(uid: 0)
        func entries() -> [PostEntry] {
            _ = monitor.take()
            monitor.send(MonitorRequest(request: monitor.nextRequest(), patterns: [">"]))
            host.run()
            return monitor.take().compactMap { if case .postEntry(let entry) = $0 { entry } else { nil } }
        }
        _ = entries()
        asker.ask("jobs.a", payload: [1])
        asker.ask("none")
        host.run()
        let shown = entries()
        #expect(shown.map(\.isRequest) == [true, true])
        #expect(shown.map(\.errorCode) == [0, ErrorCode.noResponders.rawValue])
        #expect(shown.first?.payload == [1] && shown.first?.stamp.uid == 1001)
    }
}
