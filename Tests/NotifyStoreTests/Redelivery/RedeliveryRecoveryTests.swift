import NotifyLog
import NotifyWire
import TestSupport
import Testing

@testable import NotifyStore

/// The start of a log that has as many copies as a subscription may have.
@Suite(.timeLimit(.minutes(25)))
struct RedeliveryRecoveryTests {
    @Test func `all copies of a subscription at its limit are recovered in order`() async throws {
        let folder = try TemporaryFolder()
        var generator = SeededGenerator(seed: 1)
        var store = try Store.open(path: folder.database, options: StoreOptions().withStoppedClock)
        let record = try DurableRecord(
            id: 1, name: "one", SubscriptionFilter("a"), cursor: UInt64(Redelivery.maximumCount))
        await store.commit([], changes: [.create(record)], reserveBelow: 1 << 24)
        let bytes = StoredMessage(1, "a").frameBytes
        let copies = (1...UInt64(Redelivery.maximumCount)).map { sequence in
            Redelivery(
                sequence: sequence, failures: UInt32(sequence % 5), delayMicroseconds: sequence * 3,
                isDead: sequence % 7 == 0, bytes: bytes)
        }
        // The copies are made in another order.
        var rest = copies.shuffled(using: &generator)[...]
        while !rest.isEmpty {
            let changes = rest.prefix(10_000).map { copy in
                DurableChange.keep(
                    id: 1, copy, reason: "", frame: LogBlock([StoredMessage(copy.sequence, "a")]).frames)
            }
            #expect(await store.commit([], changes: changes).failure == nil)
            rest = rest.dropFirst(10_000)
        }
        try store.close(nextSequence: 1 << 20)
        store = try Store.open(path: folder.database, options: StoreOptions().withStoppedClock)
        #expect(store.recovered.redeliveries == [1: copies])
        #expect(store.recovered.problem == nil)
        try store.close(nextSequence: 1 << 20)
        // A start reads 3.2 MB of records for such a subscription, and no copy.
        #expect(MemoryLayout<Redelivery>.stride <= 32)
    }
}
