import NotifyCenter
import NotifyLog
import NotifyWire
import Testing
import WireTestSupport

@testable import NotifyBroker

/// Traces of stored messages.
struct TraceTests {
    private struct Answer: Equatable {
        var message: PostEntry?
        var entries: [TraceEntry] = []
        var isEnded = false
        var errors: [UInt16] = []
    }

    private func answer(_ client: Client) -> Answer {
        var answer = Answer()
        for received in client.take() {
            switch received {
            case .postEntry(let entry): answer.message = entry
            case .traceEntry(let entry): answer.entries.append(entry)
            case .listEnd: answer.isEnded = true
            case .error(let error): answer.errors.append(error.code)
            default: Issue.record("unexpected \(received)")
            }
        }
        return answer
    }

    private func trace(_ sequence: UInt64, _ client: Client, _ host: TestHost) -> Answer {
        _ = client.take()
        client.send(TraceRequest(request: client.nextRequest(), sequence: sequence))
        host.run()
        return answer(client)
    }

    @Test func `a trace shows the message and its state in each matching subscription`() throws {
        let host = TestHost()
        let (poster, reader) = (host.connect(pid: 5), host.connect(pid: 20))
        for (number, name) in ["acknowledged", "gone", "inFlight", "pending"].enumerated() {
            reader.subscribe(UInt32(number + 1), ["a.*"], durable: name, credit: name == "pending" ? 0 : 10)
        }
        reader.subscribe(5, ["b"], durable: "other")
        reader.subscribe(6, ["a.*"], object: "x", durable: "otherObject")
        host.run()
        poster.post("a.b", object: "o", payload: [1, 2])
        host.run()
        let sequence = host.lastSequence
        reader.acknowledge(1, sequence...sequence)
        _ = reader.detach(2)
        reader.subscribe(7, ["a.*"], durable: "late")
        host.run()
        let answer = trace(sequence, poster, host)
        #expect(answer.isEnded && answer.errors.isEmpty)
        let message = try #require(answer.message)
        #expect(message.stamp.sequence == sequence && message.stamp.pid == 5 && message.durability == .stored)
        #expect(message.name == Array("a.b".utf8) && message.object == Array("o".utf8) && message.payload == [1, 2])
        func entry(_ name: String, _ state: TraceEntry.State, isAttached: Bool = true, seen: Bool = false) -> TraceEntry
        {
            TraceEntry(
                request: 2, state: state, mayHaveBeenSeen: seen, uid: 1000, pid: isAttached ? 20 : 0,
                client: isAttached ? 2 : 0, durableName: name)
        }
        #expect(
            answer.entries == [
                entry("acknowledged", .acknowledged), entry("gone", .pending, isAttached: false, seen: true),
                entry("inFlight", .inFlight), entry("late", .beforeStart), entry("pending", .pending),
            ])
    }

    @Test func `a damaged message is reported as such`() {
        let (host, sequences, _) = TestHost.withMessages()
        host.store.damaged = [sequences[1]]
        let client = host.connect()
        for (sequence, part) in [(sequences[1], "is damaged"), (host.lastSequence + 1, "no stored message")] {
            client.send(TraceRequest(request: client.nextRequest(), sequence: sequence))
            host.run()
            let errors = client.takeErrors()
            #expect(errors.map(\.code) == [ErrorCode.unknownMessage.rawValue])
            #expect(errors.first?.message.contains(part) == true)
        }
    }

    @Test func `a message acknowledged out of order is shown so, even after the attachment has ended`() {
        let host = TestHost()
        let (poster, reader) = (host.connect(), host.connect())
        reader.subscribe(1, ["a"], durable: "d")
        host.run()
        for _ in 0..<2 { poster.post("a") }
        host.run()
        let (first, second) = (host.lastSequence - 1, host.lastSequence)
        reader.acknowledge(1, second...second)
        host.run()
        #expect(trace(first, poster, host).entries.map(\.state) == [.inFlight])
        #expect(trace(second, poster, host).entries.map(\.state) == [.acknowledged])
        host.closed(reader)
        host.run()
        #expect(trace(first, poster, host).entries.map(\.state) == [.pending])
        #expect(trace(second, poster, host).entries.map(\.state) == [.acknowledged])
    }

    @Test func `a user's trace has the user's subscriptions, and a manager's trace has all subscriptions`() {
        let host = TestHost()
        let clients = [1, 2].map { host.connect(uid: $0) }
        for client in clients { client.subscribe(1, ["a"], durable: "d") }
        host.run()
        clients[0].post("a")
        host.run()
        #expect(trace(host.lastSequence, clients[1], host).entries.map(\.uid) == [2])
        #expect(trace(host.lastSequence, host.connect(uid: 0), host).entries.map(\.uid) == [1, 2])
    }

    @Test func `a pending message that the owner may not receive is shown as forbidden`() {
        let host = TestHost()
        let (root, owner) = (host.connect(uid: 0), host.connect(uid: 1))
        owner.subscribe(1, ["a"], durable: "d", credit: 0)
        host.run()
        root.post("a")
        host.run()
        host.core.broker.policyChanged(
            to: AccessPolicy(generation: 9, rules: [AccessRule(.deny, [.subscribe], names: ["a"], uids: [1])]))
        #expect(trace(host.lastSequence, root, host).entries.map(\.state) == [.forbidden])
        #expect(trace(host.lastSequence, owner, host).errors == [ErrorCode.unknownMessage.rawValue])
    }

    @Test func `messages that are not stored are unknown`() {
        let host = TestHost()
        let client = host.connect()
        client.post("a", .stored)
        client.post("a", .volatile)
        client.post("a", .stored)
        host.run()
        let last = host.lastSequence
        #expect(trace(last, client, host).message != nil)
        for sequence in [0, last - 1, last + 1, .max] {
            #expect(trace(sequence, client, host).errors == [ErrorCode.unknownMessage.rawValue])
        }
    }

    @Test func `requests after a trace wait for its answer`() {
        let host = TestHost()
        let client = host.connect()
        client.post("a", .stored)
        host.run()
        _ = client.take()
        client.send(TraceRequest(request: client.nextRequest(), sequence: host.lastSequence))
        client.send(TraceRequest(request: client.nextRequest(), sequence: host.lastSequence))
        client.send(Ping(request: client.nextRequest()))
        host.runTicks()
        #expect(client.take().isEmpty)
        host.run()
        let ends = client.take().compactMap { received -> UInt64? in
            switch received {
            case .listEnd(let end): end.request
            case .pong(let pong): pong.request
            default: nil
            }
        }
        #expect(ends == [2, 3, 4])
    }

    @Test func `a trace ends with its connection, and other traces continue`() {
        let host = TestHost()
        let (closed, client) = (host.connect(), host.connect())
        client.post("a", .stored)
        host.run()
        _ = client.take()
        for client in [closed, client] {
            client.send(TraceRequest(request: client.nextRequest(), sequence: host.lastSequence))
        }
        host.runTicks()
        host.closed(closed)
        host.run()
        #expect(answer(client).isEnded)
    }

    @Test(arguments: [false, true])
    func `a connection may fail or close while the message of its trace is read`(_ isClosed: Bool) {
        let host = TestHost()
        let (client, other) = (host.connect(), host.connect())
        client.post("a", .stored)
        host.run()
        _ = client.take()
        client.send(TraceRequest(request: client.nextRequest(), sequence: host.lastSequence))
        host.runTicks()
        if isClosed {
            host.closed(client)
        } else {
            client.stopTaking()
            host.core.broker.fail(client.id.slot, WireError(.malformedFrame, "broken"), now: host.now)
        }
        host.run()
        client.makeRoom()
        host.run()
        #expect(answer(client).entries.isEmpty)
        #expect(trace(host.lastSequence, other, host).isEnded)
        if !client.isClosed { host.closed(client) }
        host.closed(other)
        #expect(host.holdsNothing(1000))
    }

    @Test func `a failed read refuses the trace`() {
        let host = TestHost()
        let client = host.connect()
        client.post("a", .stored)
        host.run()
        _ = client.take()
        client.send(TraceRequest(request: client.nextRequest(), sequence: host.lastSequence))
        host.runTicks()
        host.work(failingWith: .broken)
        host.runTicks()
        #expect(answer(client).errors == [ErrorCode.storageFailed.rawValue])
        #expect(host.connection(client).pauses.isEmpty)
    }

    @Test func `a message before the start is traced as that, and as pending after a reset`() {
        let (host, sequences, _) = TestHost.withMessages()
        let client = host.connect()
        client.subscribe(1, ["a"], durable: "d")
        client.detach(1)
        host.run()
        _ = client.take()
        func stateOfSecond() -> TraceEntry.State? {
            client.send(TraceRequest(request: client.nextRequest(), sequence: sequences[1]))
            host.run()
            return client.take().lazy.compactMap { if case .traceEntry(let entry) = $0 { entry.state } else { nil } }
                .first
        }
        #expect(stateOfSecond() == .beforeStart)
        client.send(Reset(request: client.nextRequest(), durableName: "d", to: .sequence(sequences[1])))
        host.run()
        #expect(stateOfSecond() == .pending)
        #expect(TestHost(store: host.store).durable("d")?.startedAfter == sequences[1] - 1)
    }
}
