import NotifyLog
import NotifyWire
import Testing
import WireTestSupport

@testable import NotifyBroker

/// Moving the cursor of a durable subscription.
struct ResetTests {
    /// Makes a host with five stored messages, and a client whose subscription "d" has received and acknowledged all of
    /// them.
    private func host() -> (host: TestHost, client: Client, sequences: [UInt64], times: [UInt64]) {
        let (host, sequences, times) = TestHost.withMessages()
        let client = host.connect(pid: 5)
        client.subscribe(1, ["a"], durable: "d", from: .oldest)
        host.run()
        #expect(client.takeMessages().map(\.sequence) == sequences)
        client.acknowledge(1, sequences[0]...sequences[4])
        host.advance(.seconds(1))
        host.run()
        return (host, client, sequences, times)
    }

    @discardableResult
    private func reset(_ client: Client, to position: LogPosition, uid: UInt32 = Remove.ownUID) -> UInt64 {
        let request = client.nextRequest()
        client.send(Reset(request: request, uid: uid, durableName: "d", to: position))
        return request
    }

    private func descriptions(_ received: [Received]) -> [DurableDescription] {
        received.compactMap { if case .durableDescription(let description) = $0 { description } else { nil } }
    }

    private func attach(_ client: Client, _ host: TestHost, patterns: [String] = ["a"]) -> UInt64? {
        client.subscribe(9, patterns, durable: "d")
        host.run()
        return client.inbox.lazy.compactMap { if case .subscribed(let frame) = $0 { frame.generation } else { nil } }
            .first
    }

    @Test func `a reset to a time in the future is refused`() {
        let (host, client, _, _) = host()
        client.detach(1)
        host.run()
        _ = client.take()
        _ = reset(client, to: .time(microseconds: .max / 2))
        host.run()
        #expect(client.takeErrors().map(\.code) == [ErrorCode.invalidArgument.rawValue])
    }

    @Test func `a reset delivers again from its position, marked as redelivered`() throws {
        let (host, client, sequences, times) = host()
        let positions: [(LogPosition, first: Int)] = [
            (.oldest, 0), (.sequence(sequences[3]), 3), (.now, 5), (.sequence(sequences[1]), 1), (.sequence(11), 5),
            (.time(microseconds: times[2]), 2), (.age(microseconds: host.now.wallMicroseconds - times[4]), 4),
        ]
        client.detach(1)
        host.run()
        _ = client.take()
        var generations: Set<UInt64> = []
        for (position, first) in positions {
            let request = reset(client, to: position)
            host.run()
            let description = try #require(descriptions(client.take()).first, "\(position)")
            #expect(description.request == request)
            #expect(description.entry.cursor <= (first < 5 ? sequences[first] - 1 : 10))
            #expect(host.store.subscription(named: "d")?.progress.cursor == description.entry.cursor)
            let generation = try #require(attach(client, host))
            #expect(generations.insert(generation).inserted)
            let messages = client.takeMessages()
            #expect(messages.map(\.sequence) == Array(sequences[first...]), "\(position)")
            #expect(messages.allSatisfy { $0.isRedelivery })
            client.detach(9)
            host.run()
            _ = client.take()
        }
    }

    @Test func `a reset ends the attachment of a client, which can attach again`() throws {
        let (host, client, sequences, _) = host()
        _ = client.take()
        let other = host.connect()
        reset(other, to: .oldest)
        host.run()
        let error = try #require(client.takeErrors().first)
        #expect(error.code == ErrorCode.subscriptionChanged.rawValue && error.subscription == 1)
        #expect(error.request == 0 && error.detail == 0)
        #expect(descriptions(other.take()).first?.entry.pid == 0)
        client.subscribe(1, ["a"], durable: "d")
        host.run()
        #expect(client.takeMessages().map(\.sequence) == sequences)
        client.post("a")
        host.run()
        #expect(client.takeMessages().count == 1)
    }

    @Test func `acknowledgements from before a reset do not move the new cursor`() throws {
        let (host, client, sequences, _) = host()
        client.post("a")
        host.run()
        let last = try #require(client.takeMessages().last?.sequence)
        reset(host.connect(), to: .sequence(sequences[2]))
        // The client sends the acknowledgements before it knows that its attachment has ended: one before and one after
        // the commit of the reset.
        client.acknowledge(1, last...last)
        host.run()
        client.acknowledge(1, 0...last)
        host.advance(.seconds(1))
        host.run()
        #expect(client.takeErrors().map(\.code) == [66, 60, 60])
        #expect(host.store.subscription(named: "d")?.progress.cursor == sequences[2] - 1)
        #expect(host.store.subscription(named: "d")?.progress.acknowledged == [])
        // An acknowledgement of the new attachment moves the cursor.
        client.subscribe(1, ["a"], durable: "d")
        host.run()
        #expect(client.takeMessages().map(\.sequence) == sequences[2...] + [last])
        client.acknowledge(1, sequences[2]...sequences[2])
        host.advance(.seconds(1))
        host.run()
        #expect(host.store.subscription(named: "d")?.progress.cursor ?? 0 >= sequences[2])
        #expect(host.store.subscription(named: "d")?.progress.cursor ?? 0 < sequences[3])
    }

    @Test func `progress in the batch in flight does not overwrite a reset`() {
        let (host, client, sequences, _) = host()
        client.post("a")
        host.run()
        let last = client.takeMessages().last?.sequence ?? 0
        client.acknowledge(1, last...last)
        host.advance(.seconds(1))
        host.runTicks()
        #expect(host.store.jobs.count == 1)
        reset(host.connect(), to: .sequence(sequences[1]))
        host.run()
        #expect(host.store.subscription(named: "d")?.progress.cursor == sequences[1] - 1)
        #expect(host.store.subscription(named: "d")?.progress.generation == 1)
    }

    @Test func `a reset refuses an attachment whose commit is pending, and the client can attach again`() {
        let (host, client, sequences, _) = host()
        host.closed(client)
        host.run()
        let (holder, other) = (host.connect(), host.connect())
        let request = holder.subscribe(1, ["a"], durable: "d")
        host.tick()
        reset(other, to: .oldest)
        host.run()
        #expect(holder.takeErrors().map(\.request) == [request])
        holder.subscribe(1, ["a"], durable: "d")
        host.run()
        #expect(holder.takeMessages().map(\.sequence) == sequences)
        #expect(host.durable("d")?.state == .attached)
    }

    @Test func `a client may attach before the reset is committed`() {
        let (host, client, sequences, _) = host()
        _ = client.take()
        let other = host.connect()
        reset(other, to: .oldest)
        host.tick()
        client.subscribe(1, ["a"], durable: "d")
        host.tick()
        #expect(client.takeMessages().isEmpty)
        host.run()
        #expect(client.takeMessages().map(\.sequence) == sequences)
        #expect(descriptions(other.take()).count == 1)
    }

    @Test func `a reset whose commit fails changes nothing`() {
        let (host, client, sequences, _) = host()
        host.closed(client)
        host.run()
        let before = host.store.subscription(named: "d")
        let other = host.connect()
        reset(other, to: .oldest)
        host.tick()
        host.work(failingWith: .full)
        host.advance(.seconds(10))
        host.run()
        #expect(other.takeErrors().map(\.code) == [ErrorCode.logFull.rawValue])
        #expect(host.store.subscription(named: "d")?.progress.cursor == before?.progress.cursor)
        #expect(host.store.subscription(named: "d")?.generation == before?.generation)
        #expect(host.store.subscription(named: "d")?.startedAfter == before?.startedAfter)
        other.post("a")
        #expect(attach(other, host) == before?.generation)
        #expect(other.takeMessages().map(\.sequence).allSatisfy { $0 > sequences[4] })
        reset(other, to: .oldest)
        host.run()
        #expect(host.store.subscription(named: "d")?.progress.cursor == 0)
    }

    @Test(arguments: [12, 1 << 53 - 1])
    func `a position beyond the end of the log is refused`(_ sequence: UInt64) {
        let (host, client, _, _) = host()
        _ = client.take()
        reset(client, to: .sequence(sequence))
        host.run()
        let errors = client.takeErrors()
        #expect(errors.map(\.code) == [ErrorCode.invalidArgument.rawValue])
        #expect(errors.first?.message.contains("sequence \(sequence) is beyond the end of the log") == true)
        #expect(host.durable("d")?.firstMember != nil, "the client stays attached")
    }

    @Test func `resetting another user's subscription requires the right to manage everything`() {
        let (host, client, _, _) = host()
        let (stranger, root) = (host.connect(uid: 2000), host.connect(uid: 0))
        reset(stranger, to: .oldest, uid: 1000)
        reset(root, to: .oldest)
        host.run()
        #expect(stranger.takeErrors().map(\.code) == [ErrorCode.forbidden.rawValue])
        #expect(root.takeErrors().map(\.code) == [ErrorCode.unknownSubscription.rawValue])
        reset(root, to: .oldest, uid: 1000)
        host.run()
        #expect(descriptions(root.take()).first?.entry.uid == 1000)
        #expect(client.takeErrors().map(\.code) == [ErrorCode.subscriptionChanged.rawValue])
    }

    @Test func `a reset ends the losses of the earlier generation`() throws {
        let (host, client, sequences, _) = host()
        host.closed(client)
        let other = host.connect()
        reset(other, to: .oldest)
        host.run()
        var deletion = host.store.drop(sequences[0]...sequences[1], of: "d")
        let id = try #require(host.store.subscription(named: "d")?.id)
        deletion.generations[id] = 1
        host.core.broker.deleted(deletion, now: host.now)
        #expect(host.durable("d")?.loss?.count == 2)
        reset(other, to: .sequence(sequences[3]))
        // Messages that the store deleted before the commit of the reset belong to the earlier generation.
        var late = Deletion()
        late.began(1, of: id)
        late.losses[id] = Loss(first: sequences[2], last: sequences[4], count: 3, isUpperBound: false)
        late.released[id] = sequences[4]
        host.core.broker.deleted(late, now: host.now)
        #expect(host.durable("d")?.loss == nil)
        host.run()
        #expect(host.store.subscription(named: "d")?.loss == nil)
        #expect(host.durable("d")?.position == sequences[3] - 1)
        _ = attach(other, host)
        #expect(other.takeMessages().map(\.sequence) == Array(sequences[3...]))
    }

    @Test func `losses during a failed reset are kept`() throws {
        let (host, client, sequences, _) = host()
        host.closed(client)
        let other = host.connect()
        reset(other, to: .oldest)
        host.run()
        let id = try #require(host.store.subscription(named: "d")?.id)
        reset(other, to: .now)
        host.tick()
        var deletion = Deletion()
        deletion.began(1, of: id)
        deletion.losses[id] = Loss(first: sequences[0], last: sequences[2], count: 3, isUpperBound: false)
        deletion.released[id] = sequences[2]
        host.core.broker.deleted(deletion, now: host.now)
        host.work(failingWith: .full)
        #expect(host.durable("d")?.loss?.count == 3)
        #expect(host.durable("d")?.position == sequences[2])
    }

    @Test func `a reset survives a crash after the answer`() throws {
        let (host, client, sequences, _) = host()
        reset(client, to: .sequence(sequences[4]))
        host.run()
        #expect(descriptions(client.take()).count == 1)
        let restarted = TestHost(store: host.store)
        let again = restarted.connect()
        #expect(attach(again, restarted) == host.store.subscription(named: "d")?.generation)
        #expect(again.takeMessages().map(\.sequence) == [sequences[4]])
    }

    @Test func `a reset waits for an earlier one`() {
        let (host, client, sequences, _) = host()
        host.closed(client)
        let other = host.connect()
        let requests = [reset(other, to: .oldest), reset(other, to: .sequence(sequences[3]))]
        host.tick()
        #expect(host.durable("d")?.position == 0)
        host.run()
        #expect(descriptions(other.take()).map(\.request) == requests)
        #expect(host.store.subscription(named: "d")?.progress.cursor == sequences[3] - 1)
    }

    @Test func `a removal gets its turn although a client sends one change after another`() {
        let (host, client, _, _) = host()
        client.detach(1)
        host.run()
        _ = client.take()
        let root = host.connect(uid: 0)
        let owner = client
        for number in 0..<100 as Range<UInt64> {
            owner.send(
                Configure(
                    request: owner.nextRequest(), durableName: "d",
                    changes: DurableSettingChanges(deadlineMicroseconds: 1_000_000 * (1 + number % 2))))
        }
        root.remove("d", uid: 1000)
        for _ in 0..<4 {
            host.runTicks()
            host.work()
        }
        host.runTicks()
        #expect(root.take().contains { if case .removed = $0 { true } else { false } })
        #expect(descriptions(owner.take()).count < 10)
    }

    @Test func `while storage fails, a change is refused instead of waiting for an earlier one`() {
        let (host, client, _, _) = host()
        host.closed(client)
        host.run()
        let (first, second) = (host.connect(), host.connect())
        first.post("a", .stored)
        host.tick()
        host.work(failingWith: .full)
        host.tick()
        reset(first, to: .oldest)
        reset(second, to: .now)
        host.tick()
        #expect(second.takeErrors().map(\.code) == [ErrorCode.subscriptionInUse.rawValue])
    }

    @Test func `a reset to a time waits for a change that began during its search`() {
        let (host, client, _, _) = host()
        host.closed(client)
        host.run()
        let (first, second) = (host.connect(), host.connect())
        let request = reset(first, to: .age(microseconds: 3_600_000_000))
        host.tick()
        reset(second, to: .now)
        host.run()
        #expect(descriptions(first.take()).map(\.request) == [request])
        #expect(descriptions(second.take()).count == 1)
    }

    @Test func `a reset waits for an earlier removal, and then finds no subscription`() {
        let (host, client, _, _) = host()
        client.detach(1)
        host.run()
        _ = client.take()
        client.remove("d")
        reset(client, to: .oldest)
        host.tick()
        #expect(client.take().isEmpty)
        host.run()
        #expect(client.takeErrors().map(\.code) == [ErrorCode.unknownSubscription.rawValue])
        #expect(host.store.subscriptions.isEmpty)
    }

    @Test func `a client that has detached is not answered with the generation of a pending reset`() {
        let (host, client, sequences, _) = host()
        host.closed(client)
        host.run()
        let (leaver, other) = (host.connect(), host.connect())
        leaver.subscribe(1, ["a"], durable: "d")
        host.tick()
        leaver.detach(1)
        reset(other, to: .oldest)
        host.work()
        host.tick()
        let answers = leaver.take().compactMap { if case .subscribed(let frame) = $0 { frame } else { nil } }
        #expect(answers.map(\.generation) == [host.store.subscription(named: "d")?.generation])
        #expect(answers.map(\.sequence).allSatisfy { $0 >= sequences[4] })
        host.run()
        #expect(host.store.subscription(named: "d")?.progress.generation == 1)
    }
}
