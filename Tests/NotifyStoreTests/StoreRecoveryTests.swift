import Foundation
import NotifyCenter
import NotifyStore
import NotifyLog
import NotifyWire
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(25)))
struct StoreRecoveryTests {
    let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    @Test func `a clean stop continues at the exact sequence`() async throws {
        var store = try Store.open(path: folder.database)
        await store.commit([StoredMessage(1), StoredMessage(7)], reserveBelow: 1 << 24)
        try store.close(nextSequence: 12)
        #expect(!FileManager.default.fileExists(atPath: folder.database + "-wal"))

        store = try Store.open(path: folder.database)
        #expect(store.recovered.wasClosedCleanly)
        #expect(store.recovered.nextSequence == 12)
        #expect(store.recovered.persistedThrough == 7)
        try store.close(nextSequence: 12)
    }

    @Test func `a start after a kill continues after the last used sequence`() async throws {
        var store: Store? = try Store.open(path: folder.database)
        await store?.commit([StoredMessage(1)], reserveBelow: 5000)
        store?.sequencesUsed(below: 40)
        store?.sequencesUsed(below: 42)
        // The store is released without being closed, as after a kill. The second store uses no sequences before its
        // kill.
        for _ in 0..<2 {
            store = nil
            store = try Store.open(path: folder.database)
            #expect(store?.recovered.wasClosedCleanly == false)
            #expect(store?.recovered.nextSequence == 42)
        }
        try store?.close(nextSequence: 43)
        store = try Store.open(path: folder.database)
        #expect(store?.recovered.wasClosedCleanly == true)
        #expect(store?.recovered.nextSequence == 43)
        try store?.close(nextSequence: 43)
    }

    @Test func `a start after a crash continues at the end of the reserved sequences`() async throws {
        let store = try Store.open(path: folder.database)
        await store.commit([], reserveBelow: 5000)
        await store.commit([StoredMessage(1)])
        let crashed = try TemporaryFolder()
        try folder.copyDatabase(to: crashed)
        try store.close(nextSequence: 2)

        let again = try Store.open(path: crashed.database)
        #expect(!again.recovered.wasClosedCleanly)
        #expect(again.recovered.nextSequence == 5000)
        #expect(again.recovered.persistedThrough == 1)
        try again.close(nextSequence: 5001)
        let third = try Store.open(path: crashed.database)
        #expect(third.recovered.wasClosedCleanly)
        #expect(third.recovered.nextSequence == 5001)
        #expect(
            third.recovered.values.forgottenThrough == 4999,
            "clients may have read changes of values that the log has lost")
        try third.close(nextSequence: 5001)
    }

    @Test func `a crash after a clean stop and another start still skips the reserved sequences`() async throws {
        var store = try Store.open(path: folder.database)
        await store.commit([], reserveBelow: 5000)
        try store.close(nextSequence: 10)
        store = try Store.open(path: folder.database)
        let crashed = try TemporaryFolder()
        try folder.copyDatabase(to: crashed)
        try store.close(nextSequence: 10)

        let again = try Store.open(path: crashed.database)
        #expect(!again.recovered.wasClosedCleanly)
        #expect(again.recovered.nextSequence == 5000)
        try again.close(nextSequence: 5000)
    }

    @Test func `the end of the reserved sequences never decreases`() async throws {
        var store = try Store.open(path: folder.database)
        await store.commit([], reserveBelow: 9000)
        await store.commit([], reserveBelow: 100)
        try store.close(nextSequence: 20_000)
        store = try Store.open(path: folder.database)
        #expect(store.recovered.nextSequence == 20_000)
        let crashed = try TemporaryFolder()
        try folder.copyDatabase(to: crashed)
        try store.close(nextSequence: 20_000)
        let again = try Store.open(path: crashed.database)
        #expect(again.recovered.nextSequence == 20_000)
        try again.close(nextSequence: 20_000)
    }

    @Test func `subscriptions are recovered as stored`() async throws {
        let plain = try DurableRecord(
            id: 3, uid: 7, name: "plain", SubscriptionFilter("a.*", "b.>"), cursor: 5, startedAfter: 4)
        var busy = try DurableRecord(id: 9, uid: 8, name: "busy", SubscriptionFilter("x", object: "één"))
        let gone = try DurableRecord(id: 12, name: "gone", SubscriptionFilter("y"))
        var store = try Store.open(path: folder.database)
        await store.commit([], changes: [.create(plain), .create(busy), .create(gone)])
        busy.progress = DurableProgress(
            cursor: 10, seenThrough: 1 << 50,
            acknowledged: [SequenceRange(first: 12, last: 12), SequenceRange(first: 1 << 40, last: 1 << 41)],
            generation: .max, isAttached: true)
        busy.attached(Identity(uid: 8, gid: .max - 1, groups: [0, .max, 4, 24]))
        await store.commit(
            [],
            changes: [
                .update(id: 9, busy.progress), .setOwner(id: 9, busy.owner), .remove(id: 12),
                .update(id: 12, busy.progress), .setOwner(id: 12, busy.owner),
            ])
        try store.close(nextSequence: 1)

        store = try Store.open(path: folder.database)
        #expect(store.recovered.subscriptions == [plain, busy])
        #expect(store.recovered.nextSubscriptionID == 13)
        try store.close(nextSequence: 1)
    }

    @Test(arguments: [[], [7], (1...65_536).map { $0 * 65_535 }] as [[UInt32]])
    func `the identity of the last attachment is recovered`(groups: [UInt32]) async throws {
        var record = try DurableRecord(id: 1, uid: 7, name: "one", SubscriptionFilter("a"), cursor: 5)
        record.owner = Identity(uid: 7, gid: 70, groups: [1, 2])
        record.progress.generation = 3
        var store = try Store.open(path: folder.database)
        await store.commit([], changes: [.create(record)])
        try store.close(nextSequence: 1)
        store = try Store.open(path: folder.database)
        #expect(store.recovered.subscriptions == [record])

        record.attached(Identity(uid: 7, gid: 71, groups: groups))
        #expect(await store.commit([], changes: [.setOwner(id: 1, record.owner)]).failure == nil)
        try store.close(nextSequence: 1)
        store = try Store.open(path: folder.database)
        #expect(store.recovered.subscriptions == [record])
        try store.close(nextSequence: 1)
    }

    @Test(arguments: [
        "groups = '1 x'", "groups = '4294967296'", "earlier_owners = '1'", "acknowledged = x'05'", "patterns = 'a..b'",
    ])
    func `a subscription that can't be decoded is reported as damage`(damage: String) async throws {
        let store = try Store.open(path: folder.database)
        await store.commit([], changes: [.create(try DurableRecord(id: 9, name: "one", SubscriptionFilter("a")))])
        try store.close(nextSequence: 1)
        try folder.execute("UPDATE subscriptions SET \(damage)")
        let damaged = try Store.open(path: folder.database)
        #expect(damaged.recovered.failure?.kind == .damaged)
        #expect(damaged.recovered.failure?.message.contains("subscription 9") ?? false)
    }

    @Test(arguments: [1, 4094, 4095, 4096, 4097, 8191, 8192, 8193] as [UInt64])
    func `the open segment is rebuilt`(last: UInt64) async throws {
        let messages = (1...last).map { StoredMessage($0, $0 == last ? "rare" : "common") }
        var store = try Store.open(path: folder.database)
        await store.commit(messages)
        try store.close(nextSequence: last + 1)

        store = try Store.open(path: folder.database)
        #expect(store.recovered.persistedThrough == last)
        #expect(await store.commit([StoredMessage(last + 1, "later")]).statistics.logMessages == last + 1)
        #expect(try await store.everything(SubscriptionFilter("rare")) == [messages[Int(last) - 1]])
        #expect(try await store.everything(SubscriptionFilter(">"), subscription: 2).count == Int(last) + 1)
        try store.close(nextSequence: last + 2)
    }

    /// The sequences may have a gap before the second message.
    @Test(arguments: [2, 4096, 8192] as [UInt64])
    func `the usage of each user is kept without a clean stop`(second: UInt64) async throws {
        var messages = [
            StoredMessage(1, "état", object: "één", id: "id", headers: [1, 0, 255], payload: [0, 255]),
            StoredMessage(second), StoredMessage(second + 1, payload: []), StoredMessage(second + 2),
        ]
        messages[1].stamp[1] = 1001
        messages[3].stamp[1] = UInt64(UInt32.max)
        var store: Store? = try Store.open(path: folder.database)
        #expect(store?.recovered.usage == [:])
        await store?.commit([messages[0]], reserveBelow: 1 << 20)
        await store?.commit(Array(messages[1...]))
        for _ in 0..<2 {
            store = nil
            store = try Store.open(path: folder.database)
            #expect(store?.recovered.usage == messages.usage)
        }
        #expect(messages.usage[1000] == StoredUsage(messages: 2, bytes: 44 + 5 + 5 + 2 + 3 + 2 + 44 + 14))
    }

    @Test func `names keep their ids after a restart`() async throws {
        let messages = (1...300 as ClosedRange<UInt64>).map { StoredMessage($0, "site.\($0 % 150).état") }
        var store = try Store.open(path: folder.database)
        for message in messages.prefix(200) { await store.commit([message]) }
        try store.close(nextSequence: 201)
        store = try Store.open(path: folder.database)
        await store.commit(Array(messages.dropFirst(200)))
        #expect(try await store.everything(SubscriptionFilter(">")) == messages)
        #expect(
            try await store.everything(SubscriptionFilter("site.7.*"), subscription: 2).map(\.sequence) == [7, 157])
        try store.close(nextSequence: 301)
    }

    @Test func `a write-ahead log truncated anywhere leaves whole batches`() async throws {
        let batches = (0..<40).map { batch in
            (1...UInt64(batch % 7 + 1)).map { StoredMessage(UInt64(batch) * 300 + $0, "batch.\(batch)") }
        }
        let store = try Store.open(path: folder.database)
        for batch in batches { await store.commit(batch) }
        let crashed = try TemporaryFolder()
        try folder.copyDatabase(to: crashed)
        try store.close(nextSequence: 40 * 300)

        let seed = UInt64.random(in: 0 ... .max)
        print("seed \(seed)")
        var generator = SeededGenerator(seed: seed)
        let log = try Data(contentsOf: URL(fileURLWithPath: crashed.database + "-wal"))
        for round in 0..<25 {
            let torn = try TemporaryFolder()
            try FileManager.default.copyItem(atPath: crashed.database, toPath: torn.database)
            var bytes = log.prefix(Int.random(in: log.count / 3...log.count, using: &generator))
            if round % 2 == 0, let last = bytes.indices.last { bytes[last] ^= 0xFF }
            try bytes.write(to: URL(fileURLWithPath: torn.database + "-wal"))

            let again = try Store.open(path: torn.database)
            let found = try await again.everything(SubscriptionFilter(">"))
            let kept = batches.prefix { $0.last.map { $0.sequence <= found.last?.sequence ?? 0 } ?? false }
            #expect(found == kept.flatMap { $0 })
            #expect(again.recovered.nextSequence > again.recovered.persistedThrough)
            let next = again.recovered.nextSequence
            #expect(await again.commit([StoredMessage(next, "after")]).failure == nil)
            try again.close(nextSequence: next + 1)
        }
    }
}
