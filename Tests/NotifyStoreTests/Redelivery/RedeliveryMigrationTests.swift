import NotifyLog
import NotifyWire
import TestSupport
import Testing

@testable import NotifyStore

/// Logs of earlier versions, in which no subscription has settings of its own or copies of messages.
@Suite(.timeLimit(.minutes(25)))
struct RedeliveryMigrationTests {
    @Test(arguments: OldSchema.allCases)
    func `an old subscription gets the settings of an exclusive one, and has no copies`(_ schema: OldSchema)
        async throws
    {
        let folder = try TemporaryFolder()
        try folder.execute(schema.sql)
        var store = try Store.open(path: folder.database)
        let settings = DurableSettings(
            sharing: .exclusive, deadlineMicroseconds: 0, retryDelays: [1_000_000, 10_000_000, 60_000_000],
            maximumDeliveries: 0, maximumInFlight: 0)
        #expect(store.recovered.subscriptions.map(\.settings) == [settings, settings, settings])
        #expect(store.recovered.redeliveries.isEmpty && store.recovered.problem == nil)
        #expect(try await store.copies([1, 4096, 8193], of: 4).missing == [1, 4096, 8193])
        try store.close(nextSequence: 9000)
        #expect(try folder.rows("SELECT count(*) FROM redeliveries") == ["0"])
        #expect(try FileCheck.run(path: folder.database).findings.isSound)

        // The settings of the migrated subscription can be changed, and a message of the old log can be copied.
        store = try Store.open(path: folder.database)
        var record = try #require(store.recovered.subscriptions.first { $0.id == 4 })
        record.settings = DurableSettings(defaultsFor: .group)
        let copy = Redelivery(sequence: 4096, failures: 2, delayMicroseconds: 5, bytes: 0)
        let outcome = await store.commit([], changes: [.replace(record), .keep(id: 4, copy, reason: "why")])
        #expect(outcome.failure == nil)
        try store.close(nextSequence: 9000)
        store = try Store.open(path: folder.database)
        #expect(store.recovered.subscriptions.map(\.settings) == [settings, settings, record.settings])
        #expect(store.recovered.redeliveries[4]?.map(\.failures) == [2])
        let stored = try await store.everything(SubscriptionFilter("état"))
        #expect(try await store.copies([4096], of: 4).block.messages == stored)
        try store.close(nextSequence: 9000)
        #expect(try FileCheck.run(path: folder.database).findings.isSound)
    }
}
