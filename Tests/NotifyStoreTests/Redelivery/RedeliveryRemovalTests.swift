import NotifyLog
import NotifyWire
import TestSupport
import Testing

@testable import NotifyStore

/// The removal of copies when a subscription is removed or its cursor is reset.
@Suite(.timeLimit(.minutes(25)))
struct RedeliveryRemovalTests {
    private let folder: TemporaryFolder
    private let records: [DurableRecord]

    init() throws {
        folder = try TemporaryFolder()
        records = try (1...2 as ClosedRange<UInt32>).map { id in
            try DurableRecord(id: DurableID(id), name: "s\(id)", SubscriptionFilter("a"), cursor: 5)
        }
    }

    /// A store with two subscriptions, each with copies of three messages.
    private func makeStore() async throws -> Store {
        let store = try Store.open(path: folder.database)
        let copies = records.flatMap { record in
            (2...4 as ClosedRange<UInt64>).map { sequence in
                DurableChange.keep(id: record.id, Redelivery(sequence: sequence, failures: 1, bytes: 0), reason: "why")
            }
        }
        await store.commit(
            (1...5).map { StoredMessage($0, "a") }, changes: records.map { .create($0) } + copies, reserveBelow: 100)
        return store
    }

    /// Checks the copies of both subscriptions in the store, and again after the log is reopened.
    private func expect(_ first: [UInt64], _ store: Store) async throws {
        let sequences: [UInt64] = [1, 2, 3, 4, 5]
        #expect(try await store.copies(sequences, of: 1).block.entries.map(\.sequence) == first)
        #expect(try await store.copies(sequences, of: 2).block.entries.map(\.sequence) == [2, 3, 4])
        try store.close(nextSequence: 6)
        let again = try Store.open(path: folder.database)
        #expect(again.recovered.redeliveries[1]?.map(\.sequence) ?? [] == first)
        #expect(again.recovered.redeliveries[2]?.map(\.sequence) == [2, 3, 4])
        try again.close(nextSequence: 6)
        #expect(try FileCheck.run(path: folder.database).findings.isSound)
    }

    @Test func `a removed subscription loses its copies, and others keep theirs`() async throws {
        let store = try await makeStore()
        #expect(await store.commit([], changes: [.remove(id: 1)]).failure == nil)
        try await expect([], store)
    }

    @Test func `a reset deletes the copies, because the messages are read from the log again`() async throws {
        let store = try await makeStore()
        var record = records[0]
        record.progress = DurableProgress(cursor: 0, seenThrough: 0, generation: 1)
        #expect(await store.commit([], changes: [.replace(record)]).failure == nil)
        try await expect([], store)
    }

    @Test func `copies that are made after a reset in the same batch stay`() async throws {
        let store = try await makeStore()
        var record = records[0]
        record.progress = DurableProgress(cursor: 3, seenThrough: 3, generation: 1)
        let copy = Redelivery(sequence: 3, failures: 0, bytes: 0)
        let changes: [DurableChange] = [.replace(record), .keep(id: 1, copy, reason: "")]
        #expect(await store.commit([], changes: changes).failure == nil)
        try await expect([3], store)
    }

    @Test func `an edit of the filter or the settings keeps the copies`() async throws {
        let store = try await makeStore()
        var record = records[0]
        record.filter = try SubscriptionFilter("b")
        record.settings = DurableSettings(defaultsFor: .group)
        #expect(await store.commit([], changes: [.replace(record)]).failure == nil)
        try await expect([2, 3, 4], store)
    }
}
