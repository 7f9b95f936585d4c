import NotifyLog
import NotifyWire
import Testing
import WireTestSupport

@testable import NotifyBroker

/// Messages that have failed too often become dead letters. Dead letters can be delivered again or deleted.
struct DeadLetteringTests: JobsTests {
    let host = TestHost()

    @Test func `a retried message that a reset has made pending again is delivered once`() throws {
        let client = attach()
        post("one", "two")
        let messages = client.takeMessages()
        client.reject(1, messages[0].sequence, .dead)
        advance(.milliseconds(60))
        client.detach(1)
        client.send(Reset(request: client.nextRequest(), durableName: "jobs", to: .oldest))
        host.run()
        client.send(DeadLetters(request: client.nextRequest(), action: .retry))
        host.run()
        _ = client.take()
        client.subscribe(2, ["jobs.>"], durable: "jobs")
        host.run()
        advance(.milliseconds(60))
        let again = client.takeMessages()
        #expect(again.map(\.sequence).sorted() == messages.map(\.sequence))
        client.acknowledge(2, 0...messages[1].sequence)
        advance(.milliseconds(60))
        #expect(host.durable("jobs")?.unacknowledged == 0 && host.durable("jobs")?.redeliveryCount == 0)
    }

    @Test func `the last failure makes a dead letter, in the batch that deletes the copy`() throws {
        let client = attach(DurableSettingChanges(retryDelays: [0], maximumDeliveries: 2))
        let watcher = host.connect()
        watcher.subscribe(1, ["notifyd.dead.1000"])
        host.run()
        _ = watcher.take()
        let poster = host.connect()
        poster.post("jobs.a", object: "o", headers: try HeaderList.encode([("k", "v")]), payload: [1, 0, 2])
        host.run()
        let message = try #require(client.takeMessages().first)
        client.reject(1, message.sequence, reason: "first")
        advance(.milliseconds(60))
        #expect(client.takeMessages().map(\.delivery) == [2])
        client.reject(1, message.sequence, reason: "disk on fire")
        advance(.milliseconds(60))
        let letter = try #require(watcher.takeMessages().first)
        #expect(letter.name == "notifyd.dead.1000" && letter.object == "jobs" && letter.payload == [1, 0, 2])
        #expect(letter.uid == 1000)
        let headers = try #require(letter.headers.withUnsafeBytes { DeadLetterHeaders(reading: $0) })
        #expect(headers.name == "jobs.a" && headers.object == "o" && headers.reason == "disk on fire")
        #expect(headers.deliveries == 2 && headers.stamp == message.stamp)
        let own = letter.headers.withUnsafeBytes { HeaderList.value(of: "k", in: $0) }
        #expect(own == "v")
        #expect(
            host.store.messages.last?.sequence == letter.sequence && host.store.copies.values.allSatisfy { $0.isEmpty })
        let batch = try #require(host.store.batches.last { !$0.blocks.isEmpty })
        #expect(
            batch.changes.contains { if case .forget(_, let gone) = $0 { gone == [message.sequence] } else { false } })
        #expect(client.takeMessages().isEmpty && host.durable("jobs")?.redeliveryCount == 0)
    }

    @Test func `a trace shows a failed message as waiting, and one that failed for good as a dead letter`() throws {
        let client = attach(DurableSettingChanges(retryDelays: [1_000_000]))
        post("failed", "dead")
        let messages = client.takeMessages()
        func states() -> [TraceEntry.State] {
            _ = client.take()
            for message in messages {
                client.send(TraceRequest(request: client.nextRequest(), sequence: message.sequence))
                host.run()
            }
            return client.take().compactMap { if case .traceEntry(let entry) = $0 { entry.state } else { nil } }
        }
        client.reject(1, messages[0].sequence)
        client.reject(1, messages[1].sequence, .dead)
        #expect(states() == [.waiting, .deadLetter])
        advance(.milliseconds(60))
        #expect(states() == [.waiting, .acknowledged])
        advance(.seconds(2))
        #expect(states() == [.inFlight, .acknowledged])
    }

    @Test func `a trace has the failures of a message, their last reason, and the next time`() throws {
        let client = attach(DurableSettingChanges(retryDelays: [5_000_000]))
        post("failed")
        let message = try #require(client.takeMessages().first)
        func traced() -> TraceEntry? {
            _ = client.take()
            client.send(TraceRequest(request: client.nextRequest(), sequence: message.sequence))
            host.run()
            return client.take().lazy.compactMap { if case .traceEntry(let entry) = $0 { entry } else { nil } }.first
        }
        let entry = traced()
        #expect(entry?.failures == 0 && entry?.reason == "" && entry?.nextMicroseconds == 0)
        let failed = host.now.wallMicroseconds
        client.reject(1, message.sequence, reason: "no disk")
        host.runTicks()
        // The first trace finds the reason in memory, the second one in the log.
        for _ in 0..<2 {
            let entry = try #require(traced())
            #expect(entry.failures == 1 && entry.reason == "no disk" && entry.state == .waiting)
            #expect(entry.nextMicroseconds == failed + 5_000_000)
            host.advance(.milliseconds(60))
            host.run()
        }
        host.advance(.seconds(5))
        host.run()
        let again = try #require(traced())
        #expect(again.state == .inFlight && again.failures == 1 && again.reason == "no disk")
        #expect(again.nextMicroseconds == 0)
    }

    @Test func `a message that fails for good becomes a dead letter at once`() throws {
        let client = attach()
        post("one")
        client.reject(1, try #require(client.takeMessages().first).sequence, .dead, reason: "unreadable")
        advance(.milliseconds(60))
        #expect(host.store.messages.last.map { String(decoding: $0.name, as: UTF8.self) } == "notifyd.dead.1000")
    }

    @Test func `a dead letter that fails does not become another dead letter`() throws {
        let client = attach()
        let undertaker = host.connect()
        undertaker.subscribe(
            1, ["notifyd.dead.1000"], durable: "letters", settings: DurableSettingChanges(maximumDeliveries: 1))
        host.run()
        _ = undertaker.take()
        post("one")
        client.reject(1, try #require(client.takeMessages().first).sequence, .dead)
        advance(.milliseconds(60))
        let count = host.store.messages.count
        undertaker.reject(1, try #require(undertaker.takeMessages().first).sequence)
        advance(.milliseconds(60))
        advance(.seconds(100))
        #expect(host.store.messages.count == count && host.durable("letters")?.redeliveryCount == 0)
        #expect(undertaker.takeMessages().isEmpty)
    }

    @Test func `a message that is stored as dead becomes a dead letter after a crash`() throws {
        let client = attach()
        post("one")
        let message = try #require(client.takeMessages().first)
        client.reject(1, message.sequence, .dead, reason: "why")
        host.runTicks()
        host.advance(.milliseconds(60))
        host.runTicks()
        host.work()
        // The copy is stored as dead. The daemon dies before the dead letter is stored.
        #expect(host.store.copies.values.flatMap(\.values).map(\.row.isDead) == [true])
        let restarted = TestHost(store: host.store, at: .seconds(1_000))
        restarted.run()
        #expect(restarted.store.copies.values.allSatisfy { $0.isEmpty })
        let letter = try #require(restarted.store.messages.last)
        #expect(String(decoding: letter.name, as: UTF8.self) == "notifyd.dead.1000")
    }

    @Test func `dead letters that can't be stored wait, without being read again and again`() throws {
        var configuration = BrokerConfiguration()
        configuration.userLimits.general.storedBytes = 1_000
        let host = TestHost(configuration)
        let client = host.connect()
        client.subscribe(1, ["jobs.>"], durable: "jobs")
        host.run()
        _ = client.take()
        for uid in 1001...1002 as ClosedRange<UInt32> {
            host.connect(uid: uid).post("jobs.a", payload: Array(repeating: 1, count: 950))
        }
        host.run()
        // The dead letter of the first message uses up the share.
        for message in client.takeMessages() { client.reject(1, message.sequence, .dead) }
        host.run()
        host.advance(.milliseconds(60))
        host.run()
        let reads = host.store.redeliveryReads
        for _ in 0..<10 {
            host.connect(uid: 1001).ping()
            host.advance(.milliseconds(60))
            host.run()
        }
        #expect(host.store.redeliveryReads == reads)
        #expect(host.store.copies.values.flatMap(\.values).map(\.row.isDead) == [true])
        #expect(client.takeMessages().isEmpty)
        #expect(needsRoom(client, host))

        // A retry makes room, although the share is used up.
        client.send(DeadLetters(request: client.nextRequest(), action: .retry, durableName: "jobs"))
        host.run()
        host.advance(.milliseconds(60))
        host.run()
        let received = client.take()
        #expect(received.contains { if case .deadLettersDone(let done) = $0 { done.messages == 1 } else { false } })
        let messages = received.compactMap { if case .message(let message) = $0 { message } else { nil } }
        #expect(messages.count == 1)
        #expect(!needsRoom(client, host), "the other message is a dead letter now")
    }

    /// Whether the description of the subscription reports that dead letters have no room.
    private func needsRoom(_ client: Client, _ host: TestHost) -> Bool {
        client.send(Describe(request: client.nextRequest(), durableName: "jobs"))
        host.run()
        return client.take().contains {
            if case .durableDescription(let description) = $0 { description.needsRoom } else { false }
        }
    }

    @Test func `an owner without room for another name gets dead letters`() throws {
        var configuration = BrokerConfiguration()
        configuration.namesPerUser = 1
        let host = TestHost(configuration)
        let client = host.connect()
        client.subscribe(1, ["jobs.>"], durable: "jobs")
        host.run()
        _ = client.take()
        client.post("jobs.a")
        host.run()
        client.reject(1, try #require(client.takeMessages().first).sequence, .dead)
        host.advance(.milliseconds(60))
        host.run()
        #expect(host.store.messages.last.map { String(decoding: $0.name, as: UTF8.self) } == "notifyd.dead.1000")
    }

    @Test func `a message retried during a reset that fails is delivered`() throws {
        let client = attach()
        post("one")
        let message = try #require(client.takeMessages().first)
        client.reject(1, message.sequence, .dead)
        advance(.milliseconds(60))
        client.detach(1)
        host.run()
        client.send(DeadLetters(request: client.nextRequest(), action: .retry, durableName: "jobs"))
        host.runTicks()
        host.work()
        host.runTicks()
        client.send(Reset(request: client.nextRequest(), durableName: "jobs", to: .now))
        host.runTicks()
        // The store commits the batch of the retry, and then the batch of the reset.
        host.work()
        host.runTicks()
        host.work(failingWith: StorageFailure(kind: .inputOutput, message: "no"))
        host.advance(.seconds(5))
        host.run()
        _ = client.take()
        client.subscribe(2, ["jobs.>"], durable: "jobs")
        host.run()
        #expect(client.takeMessages().map(\.sequence) == [message.sequence])
    }

    @Test func `a retried dead letter goes to its subscription alone, with no failure`() throws {
        let client = attach()
        let other = host.connect()
        other.subscribe(1, ["jobs.>"], durable: "other")
        host.run()
        post("one")
        let message = try #require(client.takeMessages().first)
        _ = other.takeMessages()
        client.reject(1, message.sequence, .dead)
        advance(.milliseconds(60))
        let letters = host.store.messages.count
        client.send(DeadLetters(request: client.nextRequest(), action: .retry, durableName: "jobs"))
        host.run()
        let received = client.take()
        #expect(received.contains { if case .deadLettersDone(let done) = $0 { done.messages == 1 } else { false } })
        advance(.milliseconds(60))
        let first = received.compactMap { if case .message(let message) = $0 { message } else { nil } }
        let again = first + client.takeMessages()
        #expect(again.map(\.stamp) == [message.stamp] && again[0].delivery == 1 && again[0].isRedelivery)
        #expect(other.takeMessages().isEmpty && host.store.messages.count == letters - 1)
        client.acknowledge(1, message.sequence...message.sequence)
        advance(.milliseconds(60))
        #expect(host.store.copies.values.allSatisfy { $0.isEmpty })
    }

    @Test func `dead letters are purged by sequence, and another user's only with the right to manage`() throws {
        let client = attach()
        post("one", "two")
        for message in client.takeMessages() { client.reject(1, message.sequence, .dead) }
        advance(.milliseconds(60))
        let letters = host.store.messages.suffix(2).map(\.sequence)
        let stranger = host.connect(uid: 7)
        stranger.send(DeadLetters(request: stranger.nextRequest(), uid: 1000, action: .purge))
        host.run()
        #expect(stranger.takeErrors().map(\.code) == [ErrorCode.forbidden.rawValue])
        client.send(DeadLetters(request: client.nextRequest(), action: .purge, sequences: [letters[1]]))
        host.run()
        #expect(host.store.messages.last?.sequence == letters[0])
        client.send(DeadLetters(request: client.nextRequest(), action: .purge))
        host.run()
        #expect(!host.store.messages.contains { letters.contains($0.sequence) })
    }

    @Test func `a retry keeps a dead letter that its subscription does not match any more`() throws {
        let client = attach()
        post("one")
        client.reject(1, try #require(client.takeMessages().first).sequence, .dead)
        advance(.milliseconds(60))
        client.detach(1)
        client.send(Edit(request: client.nextRequest(), durableName: "jobs", patterns: ["other"]))
        host.run()
        _ = client.take()
        client.send(DeadLetters(request: client.nextRequest(), action: .retry))
        host.run()
        let done = client.take().compactMap { if case .deadLettersDone(let done) = $0 { done } else { nil } }
        #expect(done.map(\.messages) == [0] && done.map(\.kept) == [1])
        #expect(host.store.messages.contains { $0.name == Array("notifyd.dead.1000".utf8) })
    }

    @Test func `a retry keeps the dead letter if the creation of its subscription may still fail`() throws {
        let client = attach()
        post("one")
        client.reject(1, try #require(client.takeMessages().first).sequence, .dead)
        advance(.milliseconds(60))
        client.detach(1)
        client.remove("jobs")
        host.run()
        client.send(DeadLetters(request: client.nextRequest(), action: .retry))
        host.runTicks()
        // The subscription is created again while the page is being read.
        client.subscribe(2, ["jobs.>"], durable: "jobs")
        host.runTicks()
        while case .page? = host.store.jobs.first { host.work() }
        host.runTicks()
        host.work(failingWith: .full)
        host.advance(.seconds(5))
        host.run()
        #expect(host.durable("jobs") == nil)
        #expect(host.store.messages.contains { $0.name == Array("notifyd.dead.1000".utf8) })
    }

    @Test func `a delay continues after a reset whose commit failed`() throws {
        let client = attach(DurableSettingChanges(retryDelays: [1_000_000]))
        post("one")
        client.reject(1, try #require(client.takeMessages().first).sequence)
        advance(.milliseconds(60))
        let other = host.connect()
        other.send(Reset(request: other.nextRequest(), durableName: "jobs", to: .now))
        host.runTicks()
        client.subscribe(2, ["jobs.>"], durable: "jobs")
        host.runTicks()
        // The message becomes due while the reset is being stored.
        host.advance(.seconds(2))
        host.runTicks()
        host.work(failingWith: .broken)
        host.advance(.seconds(5))
        host.run()
        client.subscribe(3, ["jobs.>"], durable: "jobs")
        advance(.seconds(1))
        #expect(client.takeMessages().map(\.delivery) == [2])
    }
}
