import NotifyLog
import NotifyWire
import Testing
import WireTestSupport

@testable import NotifyBroker

/// Messages that fail after retention has deleted them, so that no copy can be made.
struct MissingCopyTests {
    private let host = TestHost()

    private func attach(_ settings: DurableSettingChanges = .init()) -> Client {
        let client = host.connect()
        client.subscribe(1, ["jobs.>"], durable: "jobs", settings: settings)
        host.run()
        _ = client.take()
        return client
    }

    private func post(_ count: Int) -> [UInt64] {
        let poster = host.connect()
        for _ in 0..<count { poster.post("jobs.a") }
        host.run()
        return host.store.messages.suffix(count).map(\.sequence)
    }

    /// Attaches a client that holds a deleted message. The log has not recorded a loss for the client's subscription.
    private func attachWithDeletedMessage(
        _ settings: DurableSettingChanges = .init()
    ) -> (client: Client, sequence: UInt64) {
        let client = attach(settings)
        let sequence = post(1)[0]
        _ = client.takeMessages()
        _ = host.store.drop(sequence...sequence, of: "none")
        return (client, sequence)
    }

    /// Attaches a client that gets a gap for a message that failed after its deletion.
    private func attachWithGap() -> Client {
        let (client, sequence) = attachWithDeletedMessage()
        client.reject(1, sequence)
        advance(.milliseconds(60))
        #expect(gaps(client).map(\.dropped) == [1])
        return client
    }

    private func advance(_ time: Duration) {
        host.advance(time)
        host.run()
    }

    private func gaps(_ client: Client) -> [Gap] {
        client.take().compactMap { if case .gap(let gap) = $0 { gap } else { nil } }
    }

    @Test func `a delivered message that fails after its deletion is reported as a gap, not as damage`() {
        let client = attach()
        let sequences = post(2)
        _ = client.takeMessages()
        host.core.broker.deleted(host.store.drop(sequences[0]...sequences[0], of: "jobs"), now: host.now)
        host.run()
        #expect(client.take().isEmpty)
        client.reject(1, sequences[0])
        advance(.milliseconds(60))
        #expect(gaps(client).map(\.range) == [SequenceRange(first: sequences[0], last: sequences[0])])
        advance(.seconds(10))
        #expect(client.take().isEmpty && host.warnings.allSatisfy { !$0.contains("damaged") })
        #expect(host.durable("jobs")?.redeliveryCount == 0)
        client.acknowledge(1, sequences[1]...sequences[1])
        advance(.milliseconds(60))
        #expect(host.durable("jobs")?.unacknowledged == 0)
        #expect(host.store.subscription(named: "jobs")?.progress.cursor ?? 0 >= sequences[1])
    }

    @Test func `a loss that a gap has reported is not reported again when one of its messages fails`() {
        let client = host.connect()
        client.subscribe(1, ["jobs.>"], durable: "jobs", window: 1)
        host.run()
        let sequences = post(2)
        #expect(client.takeMessages().map(\.sequence) == [sequences[0]])
        host.core.broker.deleted(host.store.drop(sequences[0]...sequences[1], of: "jobs"), now: host.now)
        host.run()
        #expect(gaps(client).map(\.dropped) == [2])
        client.reject(1, sequences[0])
        advance(.milliseconds(60))
        advance(.seconds(10))
        #expect(client.take().isEmpty)
        #expect(host.durable("jobs")?.redeliveryCount == 0)
    }

    @Test func `a group gets a gap for a deleted message that a member had when it died`() {
        let host = TestHost()
        let members = (0..<2).map { _ in
            let member = host.connect()
            member.subscribe(1, ["jobs.>"], durable: "jobs", sharing: .group)
            host.run()
            _ = member.take()
            return member
        }
        let poster = host.connect()
        for _ in 0..<2 { poster.post("jobs.a") }
        host.run()
        let holder = members[0].takeMessages().isEmpty ? 1 : 0
        let rest = members[1 - holder]
        let sequences = host.store.messages.map(\.sequence)
        _ = rest.take()
        host.closed(members[holder])
        host.core.broker.deleted(host.store.drop(sequences[0]...sequences[1], of: "jobs"), now: host.now)
        host.advance(.milliseconds(60))
        host.run()
        let gaps = rest.take().compactMap { if case .gap(let gap) = $0 { gap } else { nil } }
        #expect(!gaps.isEmpty && gaps.allSatisfy { $0.reason == .deleted })
    }

    @Test func `a gap reports messages that retention moved the group's cursor past, even if delivered`() throws {
        let client = host.connect()
        client.subscribe(1, ["jobs.>"], durable: "jobs", sharing: .group)
        host.run()
        let sequences = post(1)
        #expect(client.takeMessages().count == 1)
        host.core.broker.deleted(host.store.release(of: 1000, through: sequences[0]), now: host.now)
        host.run()
        let gap = try #require(gaps(client).first)
        #expect(gap.dropped == 1 && gap.isUpperBound)
    }

    @Test func `a loss that was reported only to a member that has ended is reported to another one`() {
        let members = (0..<2).map { _ in host.connect() }
        for member in members {
            member.subscribe(1, ["jobs.>"], durable: "jobs", window: 1, sharing: .group)
            host.run()
            _ = member.take()
        }
        let sequences = post(4)
        #expect(members.map { $0.takeMessages().count } == [1, 1])
        host.core.broker.deleted(host.store.drop(sequences[2]...sequences[2], of: "jobs"), now: host.now)
        host.run()
        #expect(gaps(members[0]).map(\.dropped) == [1] && gaps(members[1]).isEmpty)
        members[1].acknowledge(1, 0...sequences[3])
        host.run()
        members[1].acknowledge(1, 0...sequences[3])
        host.closed(members[0])
        host.run()
        #expect(gaps(members[1]).map(\.dropped) == [1])
    }

    @Test func `a deletion without a recorded loss is reported as a gap when the message fails`() throws {
        let client = attach()
        let sequences = post(1)
        _ = client.takeMessages()
        var deletion = host.store.drop(sequences[0]...sequences[0], of: "none")
        deletion.losses = [:]
        host.core.broker.deleted(deletion, now: host.now)
        client.reject(1, sequences[0])
        advance(.milliseconds(60))
        let gap = try #require(gaps(client).first)
        #expect(gap.reason == .deleted && gap.dropped == 1)
        #expect(gap.range == SequenceRange(first: sequences[0], last: sequences[0]))
        #expect(host.warnings.allSatisfy { !$0.contains("damaged") })
    }

    @Test func `if the only member has died, a deleted message is reported to the next member`() throws {
        let (client, sequence) = attachWithDeletedMessage(DurableSettingChanges(deadlineMicroseconds: 1_000_000))
        client.reject(1, sequence)
        host.closed(client)
        advance(.milliseconds(60))
        let next = host.connect()
        next.subscribe(1, [], durable: "jobs")
        host.run()
        #expect(gaps(next).map(\.range) == [SequenceRange(first: sequence, last: sequence)])
    }

    @Test func `a gap for a deleted message is repeated until a later message is acknowledged`() {
        let client = attachWithGap()
        host.closed(client)
        let next = host.connect()
        next.subscribe(1, [], durable: "jobs")
        host.run()
        #expect(gaps(next).map(\.dropped) == [1])
        next.acknowledge(1, post(1)[0]...host.lastSequence)
        advance(.milliseconds(60))
        #expect(host.durable("jobs")?.loss == nil)
    }

    @Test func `a gap for a deleted message is repeated after the daemon was killed`() {
        _ = attachWithGap()
        advance(.seconds(1))
        let next = TestHost(store: host.store)
        let later = next.connect()
        later.subscribe(1, [], durable: "jobs")
        next.run()
        #expect(gaps(later).map(\.dropped) == [1])
    }

    @Test func `a new log begins without the loss that the next batch adds to it`() {
        let (client, sequence) = attachWithDeletedMessage()
        client.reject(1, sequence)
        host.advance(.milliseconds(60))
        host.tick()
        host.work()
        #expect(host.durable("jobs")?.loss?.count == 1)
        #expect(host.core.broker.logContinuation.subscriptions.map(\.loss) == [nil])
        advance(.seconds(1))
        #expect(host.core.broker.logContinuation.subscriptions.map { $0.loss?.count } == [1])
    }

    @Test func `extending the deadline of a deleted message frees its place in the member's window`() {
        let (client, sequence) = attachWithDeletedMessage(DurableSettingChanges(deadlineMicroseconds: 1_000_000))
        client.extend(1, sequence)
        advance(.milliseconds(60))
        #expect(gaps(client).map(\.dropped) == [1])
        #expect(host.durable("jobs")?.unacknowledged == 0)
        client.acknowledge(1, sequence...sequence)
        host.run()
        #expect(client.takeErrors().isEmpty && host.durable("jobs")?.unacknowledged == 0)
    }
}
