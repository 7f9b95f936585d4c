import NotifyLog
import NotifyWire
import Testing
import WireTestSupport

@testable import NotifyBroker

/// Groups: several members that share the messages of a durable subscription.
struct GroupTests {
    private let host = TestHost()

    private func join(
        window: UInt32 = 0, credit: UInt32 = Subscribe.unlimitedCredit, pid: UInt32 = 77,
        instance: InstanceID? = nil, takesOver: Bool = false, settings: DurableSettingChanges = .init()
    ) -> Client {
        let client = host.connect(pid: pid, instance: instance)
        client.subscribe(
            1, ["jobs.>"], durable: "jobs", window: window, credit: credit, sharing: .group, takesOver: takesOver,
            settings: settings)
        host.run()
        return client
    }

    private func member(window: UInt32 = 0, settings: DurableSettingChanges = .init()) -> Client {
        let client = join(window: window, settings: settings)
        _ = client.take()
        return client
    }

    private func post(_ count: Int) {
        let poster = host.connect()
        for number in 0..<count { poster.post("jobs.a", payload: Array("\(number)".utf8)) }
        host.run()
    }

    private func advance(_ time: Duration) {
        host.advance(time)
        host.run()
    }

    @Test func `each message goes to one member, and each member gets ascending sequences`() {
        let members = [member(), member(), member()]
        post(300)
        let received = members.map { $0.takeMessages() }
        #expect(received.allSatisfy { $0.count > 50 })
        for messages in received { #expect(messages.map(\.sequence) == messages.map(\.sequence).sorted()) }
        #expect(Set(received.joined().map(\.sequence)).count == 300 && received.joined().count == 300)
    }

    @Test func `a few messages go to different members`() {
        let members = [member(), member(), member(), member()]
        post(4)
        #expect(members.map { $0.takeMessages().count } == [1, 1, 1, 1])
    }

    @Test func `a member with a full window or no credit holds up no other member`() {
        let slow = member(window: 2)
        let broke = join(credit: 1)
        let fast = member()
        post(100)
        #expect(slow.takeMessages().count == 2 && broke.takeMessages().count == 1)
        let messages = fast.takeMessages()
        #expect(messages.count == 97)
        for message in messages { fast.acknowledge(1, message.sequence...message.sequence) }
        post(50)
        #expect(fast.takeMessages().count == 50)
    }

    @Test func `a member that answers nothing holds up no member that answers several messages at once`() {
        let slow = member(window: 1)
        let fast = member(window: 8)
        post(200)
        #expect(slow.takeMessages().count == 1)
        var (count, unanswered) = (0, [UInt64]())
        var received = fast.takeMessages()
        while !received.isEmpty {
            count += received.count
            unanswered += received.map(\.sequence)
            while unanswered.count >= 8 {
                for sequence in unanswered.prefix(8) { fast.acknowledge(1, sequence...sequence) }
                unanswered.removeFirst(8)
            }
            host.run()
            received = fast.takeMessages()
        }
        #expect(count == 199)
    }

    @Test func `a member that reads nothing holds up no other member`() {
        let stuck = member()
        let fast = member()
        stuck.stopTaking()
        post(400)
        var received = fast.takeMessages()
        while !received.isEmpty {
            for message in received { fast.acknowledge(1, message.sequence...message.sequence) }
            host.run()
            received = fast.takeMessages()
        }
        #expect(host.durable("jobs")?._members.all.map(\.unacknowledged).max() ?? 0 <= 256)
        #expect((host.durable("jobs")?.reader).map { host.core.broker.pages.readers[$0].isLive } == true)
    }

    @Test func `exclusive clients and groups exclude each other, unless a client takes over`() throws {
        let holder = join(pid: 42)
        let plain = host.connect()
        plain.subscribe(1, ["jobs.>"], durable: "jobs")
        host.run()
        let error = try #require(plain.takeErrors().first)
        #expect(error.code == ErrorCode.subscriptionHeld.rawValue && error.detail == 42)
        #expect(error.message.contains("--group") && error.message.contains("process 42"))
        plain.subscribe(2, ["jobs.>"], durable: "jobs", takesOver: true)
        host.run()
        #expect(plain.take().contains { if case .subscribed = $0 { true } else { false } })
        #expect(holder.takeErrors().map(\.code) == [ErrorCode.takenOver.rawValue])
        #expect(host.store.subscription(named: "jobs")?.settings == DurableSettings(defaultsFor: .exclusive))
        let group = join()
        let refused = try #require(group.takeErrors().first)
        #expect(refused.code == ErrorCode.subscriptionHeld.rawValue && refused.message.contains("--group --takeover"))
        _ = join(takesOver: true)
        #expect(host.store.subscription(named: "jobs")?.settings == DurableSettings(defaultsFor: .group))
    }

    @Test func `no client joins while a change of the sharing may still fail`() throws {
        let holder = host.connect()
        holder.subscribe(1, ["jobs.>"], durable: "jobs")
        host.run()
        let (first, second) = (host.connect(), host.connect())
        first.subscribe(1, ["jobs.>"], durable: "jobs", sharing: .group, takesOver: true)
        host.runTicks()
        second.subscribe(1, ["jobs.>"], durable: "jobs", sharing: .group)
        host.runTicks()
        #expect(second.take().isEmpty)
        host.work(failingWith: StorageFailure(kind: .inputOutput, message: "no"))
        host.advance(.seconds(5))
        host.run()
        #expect(second.takeErrors().map(\.code) == [ErrorCode.subscriptionMismatch.rawValue])
        #expect(first.takeErrors().map(\.code) == [ErrorCode.storageFailed.rawValue])
        #expect(host.durable("jobs")?.settings.sharing == .exclusive && host.durable("jobs")?.memberCount == 0)
    }

    @Test func `an exclusive client takes over from another one`() throws {
        let first = host.connect()
        first.subscribe(1, ["a"], durable: "d")
        host.run()
        let second = host.connect()
        second.subscribe(1, ["a"], durable: "d", takesOver: true)
        host.run()
        #expect(second.take().contains { if case .subscribed = $0 { true } else { false } })
        #expect(first.takeErrors().map(\.code) == [ErrorCode.takenOver.rawValue])
    }

    @Test func `messages of a dead member count as failed, and go to the other members`() {
        let dead = member()
        let other = member()
        post(2)
        #expect(dead.takeMessages().count == 1 && other.takeMessages().count == 1)
        host.closed(dead)
        host.run()
        #expect(other.takeMessages().isEmpty)
        advance(.seconds(2))
        let again = other.takeMessages()
        #expect(again.map(\.delivery) == [2] && again.map(\.isRedelivery) == [true])
    }

    @Test func `messages of the last member count as failed, too, if the member dies`() {
        let dead = member()
        post(3)
        let messages = dead.takeMessages()
        #expect(messages.map(\.delivery) == [1, 1, 1])
        host.closed(dead)
        advance(.seconds(2))
        let again = join().takeMessages()
        #expect(again.map(\.sequence).sorted() == messages.map(\.sequence))
        #expect(again.map(\.delivery) == [2, 2, 2] && again.allSatisfy(\.isRedelivery))
    }

    @Test func `messages of a leaving member go to the others at once, without a failure`() {
        let leaving = member()
        let other = member()
        post(2)
        #expect(leaving.takeMessages().count == 1 && other.takeMessages().count == 1)
        leaving.detach(1)
        host.run()
        advance(.milliseconds(60))
        #expect(other.takeMessages().map(\.delivery) == [1])
    }

    @Test func `a late acknowledgement counts while another member has the message`() throws {
        let settings = DurableSettingChanges(deadlineMicroseconds: 1_000_000, retryDelays: [0])
        let slow = member(window: 1, settings: settings)
        post(1)
        let message = try #require(slow.takeMessages().first)
        let other = member(window: 1)
        advance(.milliseconds(1_100))
        advance(.milliseconds(60))
        #expect(other.takeMessages().map(\.sequence) == [message.sequence])
        slow.acknowledge(1, message.sequence...message.sequence)
        host.run()
        #expect(host.durable("jobs")?.redeliveryCount == 0 && host.durable("jobs")?.unacknowledged == 0)
        other.acknowledge(1, message.sequence...message.sequence)
        advance(.seconds(5))
        #expect(other.takeErrors().isEmpty && slow.takeMessages().isEmpty && other.takeMessages().isEmpty)
    }

    /// Only the last four members that received a message may acknowledge it.
    @Test func `a member that left does not count among the last members that received a message`() throws {
        let settings = DurableSettingChanges(
            deadlineMicroseconds: 1_000_000, retryDelays: [500_000], maximumDeliveries: 9)
        let slow = member(window: 1, settings: settings)
        post(1)
        let message = try #require(slow.takeMessages().first)
        advance(.milliseconds(1_100))
        for number in 1...4 {
            let other = member(window: 1)
            advance(.milliseconds(600))
            #expect(other.takeMessages().map(\.delivery) == [UInt32(number + 1)])
            advance(.milliseconds(1_100))
            #expect(host.durable("jobs")?.unacknowledged == 0)
            guard number == 1 else { continue }
            other.detach(1)
            host.run()
        }
        slow.acknowledge(1, message.sequence...message.sequence)
        host.run()
        #expect(host.durable("jobs")?.redeliveryCount == 0 && host.store.messages.count == 1)
    }

    @Test func `a member that lets a deadline pass gets nothing while another one answers`() throws {
        let settings = DurableSettingChanges(deadlineMicroseconds: 1_000_000, retryDelays: [0])
        let hung = member(window: 4, settings: settings)
        post(1)
        #expect(hung.takeMessages().count == 1)
        let other = member(window: 4)
        advance(.milliseconds(1_100))
        advance(.milliseconds(60))
        for _ in 0..<5 {
            let messages = other.takeMessages()
            #expect(!messages.isEmpty && hung.takeMessages().isEmpty)
            for message in messages { other.acknowledge(1, message.sequence...message.sequence) }
            post(2)
        }
        hung.extend(1, 1)
        for message in other.takeMessages() { other.acknowledge(1, message.sequence...message.sequence) }
        post(4)
        #expect(!hung.takeMessages().isEmpty, "an answer shows that the member is alive")
    }

    @Test func `the messages in flight to all members together are limited`() {
        let settings = DurableSettingChanges(maximumInFlight: 10)
        let members = [member(settings: settings), member()]
        post(50)
        #expect(members.reduce(0) { $0 + $1.takeMessages().count } == 10)
    }

    @Test func `a client that connects again is one member`() {
        let instance = InstanceID.next()
        let first = join(instance: instance)
        post(2)
        #expect(first.takeMessages().count == 2)
        let second = join(instance: instance)
        advance(.milliseconds(60))
        #expect(host.durable("jobs")?.memberCount == 1)
        #expect(second.takeMessages().map(\.delivery) == [1, 1])
    }

    @Test func `four thousand members share messages`() {
        let client = host.connect()
        for number in 1...4_096 as ClosedRange<UInt32> {
            client.subscribe(number, ["jobs.>"], durable: "jobs", window: 1, sharing: .group)
        }
        host.run()
        _ = client.take()
        post(5_000)
        let messages = client.takeMessages()
        #expect(messages.count == 4_096 && Set(messages.map(\.subscription)).count == 4_096)
        for message in messages.prefix(1_000) {
            client.acknowledge(message.subscription, message.sequence...message.sequence)
        }
        host.run()
        #expect(client.takeMessages().count == 904)
    }
}
