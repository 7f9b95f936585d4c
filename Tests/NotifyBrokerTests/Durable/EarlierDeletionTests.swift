import NotifyLog
import NotifyWire
import Testing
import WireTestSupport

@testable import NotifyBroker

/// Gaps for clients of new durable subscriptions whose start lies before deleted messages.
struct EarlierDeletionTests {
    private let host = TestHost()

    init() {
        let poster = host.connect()
        for _ in 0..<5 { poster.post("a", .stored) }
        host.run()
        host.store.deletedBefore = Loss(first: 2, last: 3, count: 2, isUpperBound: false)
    }

    private func gaps(from start: LogPosition) -> [Gap] {
        let client = host.connect()
        client.subscribe(1, ["a"], durable: "new", from: start)
        host.run()
        return client.take().compactMap { if case .gap(let gap) = $0 { gap } else { nil } }
    }

    @Test func `a subscription that begins at a sequence gets a gap for deleted messages`() {
        let gaps = gaps(from: .sequence(2))
        #expect(gaps.map(\.reason) == [.deleted] && gaps.map(\.dropped) == [2])
        #expect(gaps.map(\.range) == [SequenceRange(first: 2, last: 3)])
        #expect(host.warnings.isEmpty)
    }

    /// The number is limited because the store compares all known deletions with each such subscription.
    @Test func `a batch counts deletions for a limited number of new subscriptions, and the others wait`() {
        let clients = (0..<3).map { _ in host.connect() }
        for (index, client) in clients.enumerated() {
            for number in 0..<100 {
                client.subscribe(UInt32(number + 1), ["a"], durable: "new-\(index)-\(number)", from: .sequence(2))
            }
        }
        host.run()
        let counts = host.store.batches.map { batch in
            batch.changes.count { if case .countDeleted = $0 { true } else { false } }
        }
        #expect(counts.reduce(0, +) == 300)
        #expect(counts.allSatisfy { $0 < 64 + clients.count }, "\(counts)")
        for client in clients { #expect(client.takeErrors().isEmpty) }
    }

    @Test func `a subscription that begins at the oldest message or now gets no gap`() {
        #expect(gaps(from: .oldest).isEmpty)
        #expect(gaps(from: .now).isEmpty)
    }
}
