import NotifyCenter
import NotifyLog
import NotifyWire
import Testing
import WireTestSupport

@testable import NotifyBroker

/// The right to receive a name also applies to dead letters of messages under that name.
struct DeadLetterRightsTests: JobsTests {
    let host = TestHost()
    private let letters = "notifyd.dead.1000"

    /// Replaces the policy by one under which user 1000 may receive `jobs.>`, unless the right is revoked.
    private func setRevoked(_ isRevoked: Bool, generation: UInt32 = 1) {
        let rule = AccessRule(.deny, [.subscribe], names: ["jobs.>"], uids: [1000])
        host.core.broker.policyChanged(to: AccessPolicy(generation: generation, rules: isRevoked ? [rule] : []))
        host.run()
    }

    /// Makes a dead letter.
    ///
    /// - Returns: The client that owns the subscription, and the sequence of the dead letter.
    private func makeDeadLetter() throws -> (owner: Client, sequence: UInt64) {
        let owner = attach()
        post("secret")
        owner.reject(1, try #require(owner.takeMessages().first).sequence, .dead, reason: "why")
        advance(.milliseconds(60))
        _ = owner.take()
        return (owner, try #require(host.store.messages.last).sequence)
    }

    private func read(_ client: Client, isDescending: Bool = false) -> [UInt64] {
        client.read([letters], 1..., isDescending: isDescending)
        host.run()
        return client.takeMessages().map(\.sequence)
    }

    @Test func `a page of the log leaves out dead letters of messages that the reader may not receive`() throws {
        let (owner, letter) = try makeDeadLetter()
        let root = host.connect(uid: 0)
        #expect(read(owner) == [letter] && read(root) == [letter])
        setRevoked(true)
        #expect(read(owner) == [] && read(owner, isDescending: true) == [] && read(root) == [letter])
        setRevoked(false, generation: 2)
        #expect(read(owner) == [letter])
    }

    @Test func `a subscription receives no dead letter of a message that it may not receive`() throws {
        let owner = attach()
        let (volatile, durable, root) = (host.connect(), host.connect(), host.connect(uid: 0))
        volatile.subscribe(1, [letters])
        durable.subscribe(1, [letters], durable: "letters")
        root.subscribe(1, [letters])
        host.run()
        for client in [volatile, durable, root] { _ = client.take() }
        post("secret", "again")
        let messages = owner.takeMessages()
        owner.reject(1, messages[0].sequence, .dead)
        setRevoked(true)
        advance(.milliseconds(60))
        #expect(volatile.takeMessages().isEmpty && durable.takeMessages().isEmpty)
        #expect(root.takeMessages().count == 1)
        setRevoked(false, generation: 2)
        owner.reject(1, messages[1].sequence, .dead)
        advance(.milliseconds(60))
        let letter = try #require(host.store.messages.last).sequence
        #expect(volatile.takeMessages().map(\.sequence) == [letter])
        #expect(durable.takeMessages().map(\.sequence) == [letter], "the earlier dead letter was skipped")
    }

    @Test(arguments: [0, 1 << 20])
    func `a subscription that is behind skips dead letters that it may not receive`(_ ringBytes: Int) throws {
        var configuration = BrokerConfiguration()
        configuration.tailRingBytes = ringBytes
        let host = TestHost(configuration)
        let (owner, reader) = (host.connect(), host.connect())
        owner.subscribe(1, ["jobs.>"], durable: "jobs")
        reader.subscribe(1, [letters, "other"], durable: "letters")
        host.run()
        reader.detach(1)
        _ = owner.take()
        owner.post("jobs.a")
        host.run()
        owner.reject(1, try #require(owner.takeMessages().first).sequence, .dead)
        host.advance(.milliseconds(60))
        host.run()
        let rule = AccessRule(.deny, [.subscribe], names: ["jobs.>"], uids: [1000])
        host.core.broker.policyChanged(to: AccessPolicy(generation: 1, rules: [rule]))
        owner.post("other")
        host.run()
        _ = reader.take()
        reader.subscribe(2, [letters, "other"], durable: "letters")
        host.run()
        #expect(reader.takeMessages().map(\.name) == ["other"])
    }

    @Test func `a dead letter is not delivered again after the right to its message is revoked`() throws {
        let reader = host.connect()
        reader.subscribe(1, [letters], durable: "letters", settings: DurableSettingChanges(retryDelays: [1_000_000]))
        host.run()
        _ = reader.take()
        _ = try makeDeadLetter()
        reader.reject(1, try #require(reader.takeMessages().first).sequence)
        advance(.milliseconds(60))
        setRevoked(true)
        advance(.seconds(2))
        #expect(reader.takeMessages().isEmpty)
    }

    @Test func `a trace finds a dead letter only with the right to its message`() throws {
        let (owner, letter) = try makeDeadLetter()
        func isTraced(_ client: Client) -> Bool {
            client.send(TraceRequest(request: client.nextRequest(), sequence: letter))
            host.run()
            return client.take().contains { if case .postEntry = $0 { true } else { false } }
        }
        #expect(isTraced(owner))
        setRevoked(true)
        #expect(!isTraced(owner) && isTraced(host.connect(uid: 0)))
    }

    @Test func `a monitor records no dead letter of a message that it may not receive`() throws {
        let owner = attach()
        let clients = [host.connect(), host.connect(uid: 0)]
        func recorded(_ client: Client) -> Int {
            client.send(MonitorRequest(request: client.nextRequest(), patterns: [letters]))
            host.run()
            return client.take().count { if case .postEntry = $0 { true } else { false } }
        }
        for client in clients { _ = recorded(client) }
        post("secret")
        owner.reject(1, try #require(owner.takeMessages().first).sequence, .dead)
        setRevoked(true)
        advance(.milliseconds(60))
        #expect(clients.map(recorded) == [0, 1])
    }

    @Test func `without the right to its message, a retry keeps a dead letter, and a purge deletes it`() throws {
        let (owner, letter) = try makeDeadLetter()
        setRevoked(true)
        func done(_ action: DeadLetters.Action) -> [UInt64] {
            owner.send(DeadLetters(request: owner.nextRequest(), action: action))
            host.run()
            advance(.milliseconds(60))
            return owner.take().flatMap { received -> [UInt64] in
                switch received {
                case .deadLettersDone(let done): [done.messages, done.kept]
                case .message(let message): [message.sequence]
                default: []
                }
            }
        }
        #expect(done(.retry) == [0, 1])
        #expect(host.store.messages.last?.sequence == letter)
        #expect(done(.purge) == [1, 0])
        #expect(host.store.messages.last?.sequence != letter)
    }
}
