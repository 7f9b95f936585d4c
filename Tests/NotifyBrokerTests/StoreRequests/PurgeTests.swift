import NotifyLog
import NotifyWire
import Testing
import WireTestSupport

@testable import NotifyBroker

/// Deleting stored messages on request.
struct PurgeTests {
    /// Makes a host with three stored messages of root, under "a", "b" and "a". Returns the first sequence, too.
    private func host() -> (host: TestHost, root: Client, first: UInt64) {
        let host = TestHost()
        let root = host.connect(uid: 0)
        for name in ["a", "b", "a"] { root.post(name, .stored) }
        host.run()
        _ = root.take()
        return (host, root, host.lastSequence - 2)
    }

    private func purge(_ client: Client, _ patterns: [String], before: UInt64 = .max) -> UInt64 {
        let request = client.nextRequest()
        client.send(Purge(request: request, before: before, patterns: patterns))
        return request
    }

    private func answers(_ client: Client) -> (purged: [Purged], errors: [UInt16]) {
        let received = client.take()
        return (
            received.compactMap { if case .purged(let purged) = $0 { purged } else { nil } },
            received.compactMap { if case .error(let error) = $0 { error.code } else { nil } }
        )
    }

    @Test func `the answer reports the deleted messages`() {
        let (host, root, first) = host()
        _ = purge(root, ["a"], before: first + 2)
        host.run()
        let purged = answers(root).purged
        #expect(purged.map(\.messages) == [1] && purged.map(\.subscriptions) == [0])
        #expect(host.store.messages.map(\.sequence) == [first + 1, first + 2])
        #expect(purged.first?.bytes ?? 0 > 0)
        #expect(host.counter("deleted_messages") == 1)
        #expect(host.amount(of: .pendingBytes, 0) == 0)
    }

    @Test func `durable subscriptions that had not read the messages get a gap`() {
        let (host, root, _) = host()
        let reader = host.connect()
        reader.subscribe(1, ["a"], durable: "inbox", credit: 0)
        host.run()
        for _ in 0..<2 { root.post("a", .stored) }
        host.run()
        _ = (root.take(), reader.take())
        _ = purge(root, [">"])
        host.run()
        #expect(answers(root).purged.map(\.subscriptions) == [1])
        let gaps = reader.take().compactMap { if case .gap(let gap) = $0 { gap } else { nil } }
        #expect(gaps.map(\.reason) == [.deleted] && gaps.map(\.dropped) == [2])
        #expect(host.warnings.contains { $0.contains("lost 2 messages") && $0.contains("purged") })
    }

    @Test(arguments: [false, true])
    func `a purge in parts is logged once, at its end or failure`(_ fails: Bool) {
        let (host, root, _) = host()
        let reader = host.connect()
        reader.subscribe(1, ["a"], durable: "inbox", credit: 0)
        host.run()
        for _ in 0..<4 { root.post("a", .stored) }
        host.run()
        host.store.purgeMessages = 1
        _ = purge(root, ["a"])
        host.runTicks()
        for _ in 0..<4 { host.work() }
        #expect(host.warnings.isEmpty)
        if fails { host.work(failingWith: .broken) }
        host.run()
        let warnings = host.warnings.filter { $0.contains("inbox") }
        #expect(warnings.count == 1 && warnings[0].contains("lost \(fails ? 2 : 4) messages"), "\(warnings)")
    }

    @Test func `a subscription from the oldest message gets no purged message`() {
        let (host, root, first) = host()
        _ = purge(root, ["a"])
        host.run()
        let reader = host.connect()
        reader.subscribe(1, [">"], durable: "inbox", from: .oldest)
        host.run()
        let received = reader.take().compactMap { if case .message(let message) = $0 { message.sequence } else { nil } }
        #expect(received == [first + 1])
    }

    /// Makes a client with a durable subscription that waits for the redelivery of a message, by default for an hour.
    /// Returns the client and the message.
    private func waiting(
        on host: TestHost, retryDelay: Duration = .seconds(3_600)
    ) throws -> (worker: Client, message: ReceivedMessage) {
        let worker = host.connect()
        worker.subscribe(
            1, ["jobs.>"], durable: "jobs",
            settings: DurableSettingChanges(retryDelays: [UInt64(retryDelay / .microseconds(1))]))
        host.run()
        _ = worker.take()
        worker.post("jobs.a", payload: Array("secret".utf8))
        host.run()
        let message = try #require(worker.takeMessages().first)
        worker.reject(1, message.sequence)
        host.advance(.milliseconds(60))
        host.run()
        return (worker, message)
    }

    @Test func `a message that waits for its redelivery is purged, and reported as lost`() throws {
        let (host, root, _) = host()
        let (worker, message) = try waiting(on: host)
        _ = purge(root, ["jobs.>"])
        host.run()
        let purged = answers(root).purged
        #expect(purged.map(\.messages) == [1] && purged.map(\.copies) == [1] && purged.map(\.subscriptions) == [1])
        let gaps = worker.take().compactMap { if case .gap(let gap) = $0 { gap } else { nil } }
        #expect(gaps.map(\.reason) == [.deleted] && gaps.map(\.range.first) == [message.sequence])
        host.advance(.seconds(4_000))
        host.run()
        #expect(worker.takeMessages().isEmpty)
        #expect(host.store.copies.values.allSatisfy { $0.isEmpty } && host.warnings.count == 1)
        #expect(host.durable("jobs")?.redeliveryCount == 0)
        #expect(host.core.broker.ledger.stored.failedBytes(of: 1000) == 0)
    }

    @Test func `a purge of other names or of earlier messages keeps waiting messages`() throws {
        let (host, root, _) = host()
        let (worker, message) = try waiting(on: host)
        _ = purge(root, ["other.>"])
        host.run()
        _ = purge(root, ["jobs.>"], before: message.sequence)
        host.run()
        #expect(answers(root).purged.map(\.copies) == [0, 0])
        host.advance(.seconds(4_000))
        host.run()
        #expect(worker.takeMessages().map(\.sequence) == [message.sequence])
    }

    @Test func `a redelivery in flight survives a purge until its answer, and is reported in one gap`() throws {
        let (host, root, _) = host()
        let (worker, message) = try waiting(on: host, retryDelay: .zero)
        #expect(worker.takeMessages().map(\.delivery) == [2])
        _ = purge(root, ["jobs.>"])
        host.run()
        let gaps = worker.take().compactMap { if case .gap(let gap) = $0 { gap } else { nil } }
        #expect(gaps.map(\.reason) == [.deleted] && gaps.map(\.range.first) == [message.sequence])
        #expect(host.durable("jobs")?.redeliveryCount == 1)
        worker.reject(1, message.sequence, delay: .zero)
        host.runTicks()
        host.advance(.milliseconds(60))
        host.run()
        host.advance(.seconds(100))
        host.run()
        #expect(!host.warnings.contains { $0.contains("damaged") })
        #expect(worker.take().isEmpty && host.durable("jobs")?.redeliveryCount == 0)
    }

    @Test func `a copy that is purged while it is read is no damage`() throws {
        let (host, root, _) = host()
        let (worker, _) = try waiting(on: host, retryDelay: .seconds(10))
        _ = purge(root, ["jobs.>"])
        host.runTicks()
        host.advance(.seconds(11))
        host.runTicks()
        host.run()
        #expect(worker.takeMessages().isEmpty)
        #expect(!host.warnings.contains { $0.contains("damaged") })
    }

    /// The stored messages of `jobs.>`: in the log, as copies, and as dead letters.
    private func stored(on host: TestHost) -> [String] {
        let names = host.store.messages.map { String(decoding: $0.name, as: UTF8.self) }
        return names.filter { $0.hasPrefix("jobs.") || $0.hasPrefix("notifyd.dead.") }
            + host.store.copies.values.flatMap(\.values).map { "copy of \($0.row.sequence)" }
    }

    /// Makes a message a dead letter, whose commit is due.
    private func makeDeadLetter(of message: ReceivedMessage, by worker: Client, on host: TestHost) {
        worker.reject(1, message.sequence, .dead)
        host.advance(.milliseconds(60))
    }

    /// Purges `jobs.>` after a number of steps of the host, and expects that none of the messages is left.
    private func expectPurge(
        after steps: Int, by root: Client, on host: TestHost, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        host.runTicks()
        for _ in 0..<steps where host.work() { host.runTicks() }
        _ = purge(root, ["jobs.>"])
        host.runTicks()
        host.run()
        #expect(answers(root).purged.count == 1, sourceLocation: sourceLocation)
        #expect(stored(on: host) == [], sourceLocation: sourceLocation)
    }

    /// The purge begins after each number of steps while a message becomes a dead letter.
    @Test(arguments: 0..<8)
    func `no dead letter that is being made survives a purge`(_ steps: Int) throws {
        let (host, root, _) = host()
        let (worker, message) = try waiting(on: host, retryDelay: .zero)
        let letters = host.connect()
        letters.subscribe(1, ["notifyd.dead.1000"])
        host.run()
        _ = (worker.take(), letters.take())
        makeDeadLetter(of: message, by: worker, on: host)
        expectPurge(after: steps, by: root, on: host)
        host.advance(.seconds(100))
        host.run()
        #expect(stored(on: host) == [] && host.durable("jobs")?.redeliveryCount == 0)
        #expect(worker.takeMessages().isEmpty && !host.warnings.contains { $0.contains("damaged") })
        #expect(host.core.broker.ledger.stored.failedBytes(of: 1000) == 0)
    }

    @Test(arguments: 0..<8)
    func `no retry of a dead letter survives a purge`(_ steps: Int) throws {
        let (host, root, _) = host()
        let (worker, message) = try waiting(on: host, retryDelay: .zero)
        makeDeadLetter(of: message, by: worker, on: host)
        host.run()
        worker.detach(1)
        host.run()
        #expect(stored(on: host) == ["jobs.a", "notifyd.dead.1000"])
        worker.send(DeadLetters(request: worker.nextRequest(), action: .retry))
        expectPurge(after: steps, by: root, on: host)
    }

    @Test func `dead letters of other names are made after a purge, even if a waiting purge has ended`() throws {
        let (host, root, _) = host()
        let other = host.connect(uid: 0)
        let (worker, message) = try waiting(on: host, retryDelay: .zero)
        for client in [root, other] { _ = purge(client, ["other.>"]) }
        host.runTicks()
        makeDeadLetter(of: message, by: worker, on: host)
        host.runTicks()
        host.closed(other)
        host.run()
        #expect(stored(on: host) == ["jobs.a", "notifyd.dead.1000"])
    }

    @Test func `a client must be allowed to manage all matching names`() {
        let (host, _, _) = host()
        let client = host.connect(uid: 1000)
        for patterns in [["a"], [">"], ["user.1000.x", "user.2000.x"]] {
            _ = purge(client, patterns)
            host.run()
            #expect(answers(client).errors == [ErrorCode.forbidden.rawValue], "\(patterns)")
        }
        for patterns in [["a..b"], []] {
            _ = purge(client, patterns)
            host.run()
            #expect(answers(client).errors == [ErrorCode.invalidPattern.rawValue], "\(patterns)")
        }
        #expect(host.store.messages.count == 3)
    }

    @Test func `purges take place one after another, and one per connection`() {
        let (host, root, _) = host()
        let other = host.connect(uid: 0)
        _ = purge(root, ["a"])
        _ = purge(root, ["b"])
        _ = purge(other, ["b"])
        host.runTicks()
        #expect(answers(root).errors == [ErrorCode.limitReached.rawValue])
        #expect(host.store.jobs.count == 1)
        host.run()
        #expect(answers(root).purged.map(\.messages) == [2])
        #expect(answers(other).purged.map(\.messages) == [1])
    }

    @Test func `a purge that has begun continues without its connection, and a waiting purge does not`() {
        let (host, root, _) = host()
        let (other, third) = (host.connect(uid: 0), host.connect(uid: 0))
        _ = purge(root, ["a"])
        _ = purge(other, ["b"])
        host.runTicks()
        host.closed(root)
        host.closed(other)
        host.run()
        #expect(host.store.messages.map(\.name) == [Array("b".utf8)])
        _ = purge(third, ["b"])
        host.run()
        #expect(answers(third).purged.map(\.messages) == [1])
        #expect(host.amount(of: .pendingBytes, 0) == 0)
    }

    @Test func `a purge that fails is answered with an error`() {
        let (host, root, _) = host()
        _ = purge(root, ["a"])
        host.runTicks()
        host.work(failingWith: .broken)
        host.run()
        #expect(answers(root).errors == [ErrorCode.storageFailed.rawValue])
        #expect(host.amount(of: .pendingBytes, 0) == 0)
    }

    @Test(arguments: [false, true])
    func `the message of a failure says whether something was purged`(_ deletes: Bool) {
        let (host, root, first) = host()
        _ = purge(root, ["a"])
        host.runTicks()
        var deletion = host.store.drop(first...first, of: "none")
        host.core.broker.deleted(deletion, now: host.now)
        deletion.isPurge = true
        if deletes { host.core.broker.deleted(deletion, now: host.now) }
        host.core.broker.stored(.failed(.broken), for: .request(.purge), now: host.now)
        host.runTicks()
        let message = root.takeErrors().first?.message
        #expect(
            message == (deletes ? "purged in part" : "nothing was purged")
                + ", because the log can't be changed: the disk is broken")
    }
}
