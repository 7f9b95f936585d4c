import NotifyLog
import NotifyWire
import Testing
import WireTestSupport

@testable import NotifyBroker

/// Messages that fail after retention has deleted them: no copy of them can be made.
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

    private func advance(_ time: Duration) {
        host.advance(time)
        host.run()
    }

    private func gaps(_ client: Client) -> [Gap] {
        client.take().compactMap { if case .gap(let gap) = $0 { gap } else { nil } }
    }

    @Test func `a message that fails after its deletion ends, without a second loss or a warning of damage`() {
        let client = attach()
        let sequences = post(2)
        _ = client.takeMessages()
        host.core.broker.deleted(host.store.drop(sequences[0]...sequences[0], of: "jobs"), now: host.now)
        host.run()
        client.reject(1, sequences[0])
        advance(.milliseconds(60))
        advance(.seconds(10))
        #expect(client.take().isEmpty && host.warnings.allSatisfy { !$0.contains("damaged") })
        #expect(host.durable("jobs")?.redeliveries.isEmpty == true)
        client.acknowledge(1, sequences[1]...sequences[1])
        advance(.milliseconds(60))
        #expect(host.durable("jobs")?.members.unacknowledged == 0)
        #expect(host.store.subscription(named: "jobs")?.progress.cursor ?? 0 >= sequences[1])
    }

    @Test func `a deletion that is no loss is reported as a gap when the message fails`() throws {
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

    @Test func `a member whose deadline was extended has room again`() {
        let client = attach(DurableSettingChanges(deadlineMicroseconds: 1_000_000))
        let sequences = post(1)
        _ = client.takeMessages()
        _ = host.store.drop(sequences[0]...sequences[0], of: "none")
        client.extend(1, sequences[0])
        advance(.milliseconds(60))
        #expect(gaps(client).map(\.dropped) == [1])
        #expect(host.durable("jobs")?.members.unacknowledged == 0)
        client.acknowledge(1, sequences[0]...sequences[0])
        host.run()
        #expect(client.takeErrors().isEmpty && host.durable("jobs")?.members.unacknowledged == 0)
    }
}
