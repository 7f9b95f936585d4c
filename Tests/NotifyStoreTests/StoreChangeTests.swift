import Foundation
import NotifyLog
import NotifyStore
import NotifyWire
import TestSupport
import Testing

/// Resets and edits of durable subscriptions, and the records of attachments.
@Suite(.timeLimit(.minutes(25)))
struct StoreChangeTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    private func record() throws -> DurableRecord {
        var record = try DurableRecord(
            id: 1, uid: 7, name: "one", SubscriptionFilter("a.*", object: "o"), cursor: 9, startedAfter: 9)
        record.createdMicroseconds = 1 << 50
        record.lastAttachment = LastAttachment(microseconds: 1 << 51, pid: .max)
        record.progress.acknowledged = [SequenceRange(first: 12, last: 14)]
        return record
    }

    /// Opens the log again without a clean stop, and returns its subscriptions.
    private func recovered() throws -> [DurableRecord] {
        let crashed = try TemporaryFolder()
        try folder.copyDatabase(to: crashed)
        let store = try Store.open(path: crashed.database)
        #expect(store.recovered.failure == nil)
        return store.recovered.subscriptions
    }

    @Test func `the times of the creation and the last attachment are kept`() async throws {
        let store = try Store.open(path: folder.database)
        var record = try record()
        await store.commit([], changes: [.create(record)])
        #expect(try recovered() == [record])
        record.attached(Identity(uid: 7, gid: 3, groups: [4]))
        record.lastAttachment = LastAttachment(microseconds: 1 << 52, pid: 5)
        await store.commit([], changes: [.setOwner(id: 1, record.owner, record.lastAttachment)])
        #expect(try recovered() == [record])
    }

    @Test func `the last eight identities that attached are kept in order`() async throws {
        let store = try Store.open(path: folder.database)
        var record = try record()
        await store.commit([], changes: [.create(record)])
        for group in [1, 2, 3, 4, 5, 6, 7, 8, 1, 9] as [UInt32] {
            let identity = Identity(uid: 7, gid: group, groups: group % 2 == 0 ? [] : [group, 4_000_000_000])
            record.attached(identity)
            await store.commit([], changes: [.setOwner(id: 1, identity, record.lastAttachment)])
        }
        #expect(record.owners.map(\.gid) == [3, 4, 5, 6, 7, 8, 1, 9])
        #expect(try recovered() == [record])
    }

    @Test func `a reset moves the cursor back and removes the losses`() async throws {
        let store = try Store.open(path: folder.database)
        var record = try record()
        record.loss = Loss(first: 3, last: 4, count: 2, isUpperBound: true)
        await store.commit((1...20).map { StoredMessage($0, "a.b", object: "o") }, changes: [.create(record)])
        #expect(try recovered() == [record])
        record.progress = DurableProgress(cursor: 2, seenThrough: 20, generation: 1)
        record.startedAfter = 2
        record.loss = nil
        await store.commit([], changes: [.replace(record)])
        #expect(try recovered() == [record])
        // An update of the earlier generation is not stored, not even in the same batch.
        let late = DurableProgress(cursor: 15, seenThrough: 30, isAttached: true)
        await store.commit([], changes: [.update(id: 1, late)])
        #expect(try recovered() == [record])
        record.progress = DurableProgress(cursor: 18, seenThrough: 20, generation: 2)
        await store.commit([], changes: [.replace(record), .update(id: 1, late)])
        #expect(try recovered() == [record])
        record.progress.cursor = 19
        await store.commit([], changes: [.update(id: 1, record.progress)])
        #expect(try recovered() == [record])
    }

    @Test func `a subscription is created and reset in one batch`() async throws {
        let store = try Store.open(path: folder.database)
        var record = try record()
        let created = record
        record.progress = DurableProgress(cursor: 0, seenThrough: 20, generation: 1)
        record.filter = try SubscriptionFilter("b")
        await store.commit([], changes: [.create(created), .replace(record)])
        #expect(try recovered() == [record])
    }

    @Test func `a change builds on the earlier changes of its batch`() async throws {
        let store = try Store.open(path: folder.database)
        var record = try record()
        await store.commit((1...20).map { StoredMessage($0, "a.b", object: "o") }, changes: [.create(record)])
        record.progress = DurableProgress(cursor: 16, seenThrough: 20)
        await store.commit([], changes: [.update(id: 1, record.progress), .delete(sequences: [11, 15])])
        #expect(try recovered() == [record], "acknowledged messages are not lost")
        record.loss = Loss(first: 17, last: 17, count: 1, isUpperBound: true)
        await store.commit([], changes: [.delete(sequences: [17])])
        #expect(try recovered() == [record])
    }

    @Test func `a failed batch changes no progress`() async throws {
        let store = try Store.open(path: folder.database)
        var record = try record()
        await store.commit((1...20).map { StoredMessage($0, "a.b", object: "o") }, changes: [.create(record)])
        let unordered = DurableProgress(
            cursor: 18, seenThrough: 20,
            acknowledged: [SequenceRange(first: 20, last: 20), SequenceRange(first: 19, last: 19)])
        let progress = DurableProgress(cursor: 16, seenThrough: 20)
        let outcome = await store.commit([], changes: [.update(id: 1, progress), .update(id: 1, unordered)])
        #expect(outcome.failure != nil)
        record.loss = Loss(first: 15, last: 15, count: 1, isUpperBound: true)
        await store.commit([], changes: [.delete(sequences: [14, 15])])
        #expect(try recovered() == [record])
    }

    @Test func `an edit keeps progress and losses`() async throws {
        let store = try Store.open(path: folder.database)
        var record = try record()
        record.loss = Loss(first: 3, last: 4, count: 2, isUpperBound: false)
        await store.commit((1...20).map { StoredMessage($0, "a.b", object: "o") }, changes: [.create(record)])
        record.filter = try SubscriptionFilter("b.>", "c.état", object: "o")
        var known = record
        known.loss = nil
        await store.commit([], changes: [.replace(known)])
        #expect(try recovered() == [record])
    }

    @Test func `pages and counts follow an edit`() async throws {
        let store = try Store.open(path: folder.database)
        var record = try DurableRecord(id: 1, name: "one", SubscriptionFilter("a"))
        await store.commit((1...20).map { StoredMessage($0, $0 < 6 ? "a" : "b") }, changes: [.create(record)])
        func pending() async -> UInt64? {
            await completion { store.measureBacklogs(under: AccessPolicy(), completion: $0) }[1]?.messages
        }
        #expect(try await store.everything(record.filter).count == 5)
        #expect(await pending() == 5)
        record.filter = try SubscriptionFilter("b")
        await store.commit([], changes: [.replace(record)])
        #expect(try await store.everything(record.filter).count == 15)
        #expect(await pending() == 15)
        record.progress = DurableProgress(cursor: 18, seenThrough: 20, generation: 1)
        await store.commit([], changes: [.replace(record)])
        #expect(await pending() == 2)
    }

    @Test func `a change of a subscription that does not exist has no effect`() async throws {
        let store = try Store.open(path: folder.database)
        #expect(await store.commit([], changes: [.replace(try record())]).failure == nil)
        #expect(try recovered() == [])
    }

    @Test(arguments: ["created = 1", "attached_at = 1", "attached_pid = 1", "patterns = 'b'", "started_after = 1"])
    func `a changed column is reported as damage`(damage: String) async throws {
        let store = try Store.open(path: folder.database)
        await store.commit([], changes: [.create(try record())])
        await store.commit([], changes: [.replace(try record())])
        try store.close(nextSequence: 1)
        try folder.execute("UPDATE subscriptions SET \(damage)")
        #expect(try Store.open(path: folder.database).recovered.failure?.kind == .damaged)
    }

    @Test func `a refused reset or edit is undone`() async throws {
        let filter = try SubscriptionFilter(">")
        let store = try Store.open(path: folder.database)
        var record = try record()
        record.loss = Loss(first: 3, last: 4, count: 2, isUpperBound: false)
        await store.commit([StoredMessage(1)], changes: [.create(record)], reserveBelow: 5000)
        var changed = record
        changed.filter = filter
        changed.progress = DurableProgress(cursor: 0, seenThrough: 0, generation: 1)
        changed.loss = nil
        let elsewhere = folder.file("elsewhere")
        try FileManager.default.moveItem(atPath: folder.database, toPath: elsewhere)
        #expect(await store.commit([], changes: [.replace(changed)]).failure != nil)
        try FileManager.default.moveItem(atPath: elsewhere, toPath: folder.database)
        #expect(await store.commit([StoredMessage(2)]).failure == nil)
        #expect(try recovered() == [record])
        await store.commit([], changes: [.replace(changed)])
        #expect(try recovered() == [changed])
    }
}
