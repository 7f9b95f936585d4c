import NotifyLog
import NotifyWire
import Testing
import WireTestSupport

@testable import NotifyBroker

/// Members of groups that try to cost the daemon as much as they can.
struct HostileMembersTests {
    private let host = TestHost()

    private func join(
        _ numbers: ClosedRange<UInt32> = 1...1, uid: UInt32 = 1000, window: UInt32 = 0,
        settings: DurableSettingChanges = .init()
    ) -> Client {
        let client = host.connect(uid: uid)
        for number in numbers {
            client.subscribe(
                number, ["jobs.>"], durable: "jobs", window: window, sharing: .group, settings: settings)
        }
        host.run()
        return client
    }

    private func post(_ count: Int) {
        let poster = host.connect()
        for _ in 0..<count { poster.post("jobs.a", receipt: false) }
        host.run()
    }

    private func advance(_ time: Duration) {
        host.advance(time)
        host.run()
    }

    /// Returns the number of turns until the client's ping is answered.
    private func turnsUntilPong(_ client: Client) -> Int {
        client.ping()
        for turn in 1...1_000 {
            host.tick()
            if client.take().contains(where: { if case .pong = $0 { true } else { false } }) { return turn }
        }
        return .max
    }

    /// The maximum number of copies in one batch, of the batches from index `first` on.
    private func mostCopies(since first: Int) -> Int {
        host.store.batches[first...].map { batch in
            batch.changes.count { if case .keep = $0 { true } else { false } }
        }.max() ?? 0
    }

    // MARK: Many members

    @Test func `ten thousand members on four connections attach, share messages, and end in slices`() throws {
        let innocent = host.connect(uid: 2000)
        let clients = (0..<4).map { _ in host.connect() }
        for client in clients {
            for number in 1...2_500 as ClosedRange<UInt32> {
                client.subscribe(number, ["jobs.>"], durable: "jobs", window: 4, sharing: .group)
            }
        }
        #expect(turnsUntilPong(innocent) <= 2)
        host.run()
        #expect(host.durable("jobs")?.memberCount == 10_000)
        for client in clients {
            #expect(client.take().count { if case .subscribed = $0 { true } else { false } } == 2_500)
        }
        post(10_000)
        let received = clients.map { $0.takeMessages() }
        #expect(received.allSatisfy { $0.count == 2_500 } && Set(received.joined().map(\.sequence)).count == 10_000)

        let first = host.store.batches.count
        let spent = host.core.broker.scheduler.spent
        host.closed(clients[0])
        #expect(host.core.broker.scheduler.spent - spent >= 2_500 * FairScheduler.Cost.detach)
        #expect(host.durable("jobs")?._redeliveries.unsavedCount == 512)
        #expect(turnsUntilPong(innocent) <= 2)
        advance(.milliseconds(60))
        #expect(host.durable("jobs")?.memberCount == 7_500)
        for _ in 0..<10 { advance(.milliseconds(60)) }
        #expect(host.durable("jobs")?.redeliveryCount == 2_500 && mostCopies(since: first) <= 512)
        for _ in 0..<30 { advance(.milliseconds(60)) }
        let again = clients[1...].flatMap { $0.takeMessages() }
        #expect(Set(again.map(\.sequence)) == Set(received[0].map(\.sequence)) && again.allSatisfy { $0.delivery == 2 })

        for client in clients[1...] {
            for number in 1...2_500 as ClosedRange<UInt32> { client.detach(number) }
        }
        #expect(turnsUntilPong(innocent) <= 2)
        for _ in 0..<40 { advance(.milliseconds(60)) }
        let durable = try #require(host.durable("jobs"))
        #expect(!durable.hasMembers && durable.endedMembers.isEmpty && durable.unacknowledged == 0)
        #expect(mostCopies(since: first) <= 1_024)
    }

    @Test func `a client that takes over a group of ten thousand is charged for each member`() {
        let clients = (0..<4).map { _ in join(1...2_500, window: 1) }
        post(100)
        let taker = host.connect()
        let spent = host.core.broker.scheduler.spent
        taker.subscribe(1, ["jobs.>"], durable: "jobs", takesOver: true)
        #expect(host.core.broker.scheduler.spent - spent > 10_000 * FairScheduler.Cost.refusal)
        host.run()
        #expect(host.durable("jobs")?.memberCount == 1)
        #expect(clients.allSatisfy { $0.takeErrors().count == 2_500 })
        #expect(Set(taker.takeMessages().map(\.sequence)).count == 100)
    }

    @Test func `a group has at most 16,384 members`() {
        let clients = (0..<4).map { _ in join(1...4_096, window: 1) }
        #expect(clients.allSatisfy { $0.takeErrors().isEmpty })
        #expect(host.durable("jobs")?.memberCount == Limits.membersPerSubscription)
        #expect(join().takeErrors().map(\.code) == [ErrorCode.limitReached.rawValue])
        clients[0].detach(1)
        host.run()
        #expect(join().takeErrors().isEmpty)
        #expect(host.durable("jobs")?.memberCount == Limits.membersPerSubscription)
    }

    // MARK: A large window

    @Test func `messages of dying members with the largest window become redeliveries in slices, twice`() throws {
        let settings = DurableSettingChanges(deadlineMicroseconds: 0, retryDelays: [0], maximumDeliveries: 9)
        let count = Int(Limits.maximumWindow)
        var dying = join(window: Limits.maximumWindow, settings: settings)
        let innocent = host.connect(uid: 2000)
        _ = dying.take()
        post(count)
        #expect(dying.takeMessages().count == count)
        for delivery in 2...3 as ClosedRange<UInt32> {
            let first = host.store.batches.count
            let next = join(window: Limits.maximumWindow)
            _ = next.take()
            host.closed(dying)
            #expect(host.durable("jobs")?._redeliveries.unsavedCount == 512, "one slice is moved immediately")
            #expect(turnsUntilPong(innocent) <= 2)
            var received: [ReceivedMessage] = []
            for _ in 0..<60 {
                advance(.milliseconds(60))
                received += next.takeMessages()
            }
            #expect(received.count == count && received.allSatisfy { $0.delivery == delivery })
            #expect(mostCopies(since: first) <= 1_024)
            dying = next
        }
        dying.acknowledge(1, 0...host.lastSequence)
        advance(.milliseconds(60))
        let durable = try #require(host.durable("jobs"))
        #expect(durable.redeliveryCount == 0 && durable.unacknowledged == 0 && durable.endedMembers.isEmpty)
        #expect(host.store.copies.values.allSatisfy { $0.isEmpty })
    }

    // MARK: Answers

    @Test func `a member that rejects everything takes its share, and its messages become dead letters`() {
        let settings = DurableSettingChanges(retryDelays: [0], maximumDeliveries: 3)
        let hostile = join(window: 8, settings: settings)
        let worker = join(window: 8)
        post(400)
        var rejections: [UInt64: UInt32] = [:]
        var acknowledged: Set<UInt64> = []
        var rounds = 0
        while rounds < 500, acknowledged.count + host.store.messages.count(where: \.isDeadLetter) < 400 {
            rounds += 1
            for message in hostile.takeMessages() {
                rejections[message.sequence, default: 0] += 1
                #expect(message.delivery == rejections[message.sequence])
                hostile.reject(1, message.sequence, delay: .zero)
            }
            let own = worker.takeMessages()
            for message in own {
                #expect(message.delivery == rejections[message.sequence, default: 0] + 1)
                #expect(acknowledged.insert(message.sequence).inserted)
                worker.acknowledge(1, message.sequence...message.sequence)
            }
            advance(.milliseconds(60))
        }
        let letters = host.store.messages.compactMap(\.letter)
        #expect(acknowledged.count >= 200, "the worker gets at least its share")
        #expect(acknowledged.isDisjoint(with: letters.map(\.sequence)) && acknowledged.count + letters.count == 400)
        #expect(!letters.isEmpty && letters.allSatisfy { $0.deliveries == 3 && rejections[$0.sequence] == 3 })
        advance(.milliseconds(60))
        #expect(
            host.durable("jobs")?.redeliveryCount == 0 && host.store.copies.values.allSatisfy { $0.isEmpty })
    }

    @Test func `a deadline of 0 means no deadline, until the client extends by a time of its own`() {
        let client = join(settings: DurableSettingChanges(deadlineMicroseconds: 0, retryDelays: [0]))
        _ = client.take()
        post(2)
        let messages = client.takeMessages()
        client.extend(1, messages[0].sequence)
        advance(.seconds(40 * 86_400))
        #expect(client.take().isEmpty && host.durable("jobs")?.unacknowledged == 2)
        client.extend(1, messages[0].sequence, by: .seconds(1))
        advance(.milliseconds(1_100))
        advance(.milliseconds(60))
        let again = client.takeMessages()
        #expect(again.map(\.sequence) == [messages[0].sequence] && again.map(\.delivery) == [2])
    }

    @Test(arguments: [(99_999, false), (100_000, true), (2_592_000_000_000, true), (2_592_000_000_001, false)])
    func `a deadline is between 100 ms and 30 days`(_ microseconds: UInt64, _ isValid: Bool) {
        let client = join(settings: DurableSettingChanges(deadlineMicroseconds: microseconds))
        #expect(client.takeErrors().map(\.code) == (isValid ? [] : [ErrorCode.invalidArgument.rawValue]))
        #expect((host.durable("jobs") != nil) == isValid)
    }

    @Test func `an extension of messages that the member does not hold changes nothing`() throws {
        let settings = DurableSettingChanges(deadlineMicroseconds: 1_000_000, retryDelays: [0])
        let (first, second) = (join(window: 2, settings: settings), join(window: 2))
        post(4)
        let (own, other) = (first.takeMessages().map(\.sequence), second.takeMessages().map(\.sequence))
        try #require(own.count == 2 && other.count == 2)
        first.acknowledge(1, own[0]...own[0])
        first.extend(1, own[0], other[0], other[1], 0, 999_999, .max, by: .seconds(60))
        host.run()
        #expect(first.takeErrors().isEmpty && host.durable("jobs")?.redeliveryCount == 0)
        advance(.milliseconds(1_100))
        #expect(host.durable("jobs")?.redeliveryCount == 3, "the deadlines of the other messages have passed")
    }

    @Test func `answers for messages and subscriptions of others are refused or have no effect`() throws {
        let members = [join(window: 2), join(window: 2)]
        let stranger = host.connect(uid: 2000)
        stranger.subscribe(1, ["jobs.>"])
        host.run()
        for client in members + [stranger] { _ = client.take() }
        post(2)
        let held = members.compactMap { $0.takeMessages().first?.sequence }
        try #require(held.count == 2)
        let (own, other) = (held.min() ?? 0, held.max() ?? 0)
        let (first, second) = held[0] == own ? (members[0], members[1]) : (members[1], members[0])
        first.acknowledge(1, other...other)
        first.reject(1, other, .dead)
        second.acknowledge(1, own...own)
        second.reject(1, own, .dead)
        host.run()
        #expect(first.takeErrors().map(\.code) == [ErrorCode.notDelivered, .notDelivered].map(\.rawValue))
        #expect(second.takeErrors().isEmpty, "the sequence is below that of a message that the member has received")
        for number in [1, 2] as [UInt32] {
            stranger.acknowledge(number, own...own)
            stranger.reject(number, own)
            stranger.extend(number, own)
        }
        host.run()
        #expect(stranger.takeErrors().map(\.code) == Array(repeating: ErrorCode.unknownSubscription.rawValue, count: 6))
        let durable = try #require(host.durable("jobs"))
        #expect(durable.unacknowledged == 2 && durable.redeliveryCount == 0)
    }

    @Test func `a member may acknowledge at most two windows of messages whose deadline has passed`() {
        let member = MemberID(rawValue: 1)
        let most = 2 * UInt64(Limits.maximumWindow)
        var messages = Redeliveries()
        for sequence in 1...most + 2 {
            messages.add(sequence, .hold(member, deadline: nil), failures: 0, bytes: 1, holder: member)
        }
        for sequence in 1...most + 2 {
            messages.change(sequence, to: .wait(microseconds: 1, now: .test()), failures: 1)
        }
        #expect(messages.held[member]?.sorted() == Array(3...most + 2))
    }
}
