import NotifyLog
import NotifyWire
import Testing
import WireTestSupport

@testable import NotifyBroker

/// Damaged messages on a page of the log that was requested for a group.
struct DamagedPageTests {
    private let host: TestHost
    private let sequences: [UInt64]

    /// Makes a group without members, and six messages that are not in the tail ring. The second and the fourth message
    /// are damaged.
    init() {
        let first = TestHost()
        let poster = first.connect()
        poster.subscribe(1, ["jobs.>"], durable: "jobs", sharing: .group)
        first.run()
        first.closed(poster)
        let other = first.connect()
        for _ in 0..<6 { other.post("jobs.a", .stored) }
        first.run()
        sequences = first.store.messages.map(\.sequence)
        first.store.damaged = [sequences[1], sequences[3]]
        host = TestHost(store: first.store)
    }

    private func join(_ client: Client, credit: UInt32 = Subscribe.unlimitedCredit) {
        client.subscribe(1, ["jobs.>"], durable: "jobs", credit: credit, sharing: .group)
    }

    /// Lets two clients join: the first with unlimited credit, the second with `credit`. Returns when the broker has
    /// requested a page that the store has not read yet.
    private func join(credit: UInt32) throws -> (Client, Client) {
        let clients = (host.connect(), host.connect())
        join(clients.0)
        join(clients.1, credit: credit)
        try requestPage()
        return clients
    }

    private func requestPage() throws {
        host.runTicks()
        host.work()
        host.runTicks()
        let isRequested = if case .page? = host.store.jobs.last { true } else { false }
        try #require(isRequested)
    }

    /// The sequences of the messages, and the ranges of the gaps, that a client received since the last call.
    private func received(by client: Client) -> (messages: [UInt64], gaps: [Gap]) {
        let frames = client.take()
        return (
            frames.compactMap { if case .message(let message) = $0 { message.sequence } else { nil } },
            frames.compactMap { if case .gap(let gap) = $0 { gap } else { nil } }
        )
    }

    private func gap(_ sequence: UInt64) -> Gap {
        Gap(
            reason: .damaged, isUpperBound: true, subscription: 1, dropped: 1,
            range: SequenceRange(first: sequence, last: sequence))
    }

    @Test func `damage around a message for which no member has room is reported once`() throws {
        let (leaving, staying) = try join(credit: 1)
        host.closed(leaving)
        host.run()
        let early = received(by: staying)
        #expect(early.messages == [sequences[0]] && early.gaps == [gap(sequences[1])])
        staying.send(Credit(subscription: 1, messages: 1))
        host.run()
        let next = received(by: staying)
        #expect(next.messages == [sequences[2]])
        staying.send(Credit(subscription: 1, messages: 10))
        host.run()
        let last = received(by: staying)
        #expect(last.messages == Array(sequences[4...]))
        #expect(next.gaps + last.gaps == [gap(sequences[3])], "the damage is reported once")
        #expect(host.counter("damaged_messages") == 2)
    }

    @Test func `damage before the first message is reported before a member has room for that message`() throws {
        host.store.damaged = [sequences[0]]
        let (leaving, staying) = try join(credit: 0)
        host.closed(leaving)
        host.run()
        let early = received(by: staying)
        #expect(early.messages.isEmpty && early.gaps == [gap(sequences[0])])
        staying.send(Credit(subscription: 1, messages: 10))
        host.run()
        let rest = received(by: staying)
        #expect(rest.messages == Array(sequences[1...]) && rest.gaps.isEmpty)
    }

    @Test func `damage on a page that arrives after the last member has left is reported to the next`() throws {
        let leaving = host.connect()
        join(leaving)
        try requestPage()
        host.closed(leaving)
        host.run()
        #expect(received(by: leaving).messages.isEmpty)
        let next = host.connect()
        join(next)
        host.run()
        let all = received(by: next)
        #expect(all.messages == [0, 2, 4, 5].map { sequences[$0] })
        #expect(all.gaps.map(\.dropped) == [2])
        #expect(all.gaps.map(\.range) == [SequenceRange(first: sequences[1], last: sequences[3])])
    }
}
