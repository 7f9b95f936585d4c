import Foundation
import NIOCore
import NotifyCenter
import NotifyLog
import NotifyWire
import TestSupport
import Testing

@testable import NotifyStore

/// Copies of messages that durable subscriptions receive again.
@Suite(.timeLimit(.minutes(25)))
struct StoreRedeliveryTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    private func copy(_ sequence: UInt64, failures: UInt32 = 1) -> DurableChange {
        .keep(id: 1, Redelivery(sequence: sequence, failures: failures, bytes: 0), reason: "why \(failures)")
    }

    /// A store with five messages, and copies of the second and the fourth.
    private func makeStore() async throws -> Store {
        let store = try Store.open(path: folder.database, options: .withoutTimer)
        var record = try DurableRecord(id: 1, name: "one", SubscriptionFilter("a"), cursor: 5)
        record.settings = DurableSettings(defaultsFor: .group)
        await store.commit(
            (1...5).map { StoredMessage($0, "a") }, changes: [.create(record), copy(2), copy(4), copy(9)],
            reserveBelow: 100)
        return store
    }

    @Test func `a subscription that has not read a deleted message loses it`() async throws {
        let store = try await makeStore()
        var reader = try DurableRecord(id: 2, name: "two", SubscriptionFilter("a"), cursor: 1)
        reader.progress.acknowledged = [SequenceRange(first: 3, last: 3)]
        await store.commit([], changes: [.create(reader)])
        await store.commit([], changes: [.delete(sequences: [1, 2, 3, 5])])
        try store.close(nextSequence: 6)
        let again = try Store.open(path: folder.database)
        let loss = again.recovered.subscriptions.first { $0.id == 2 }?.loss
        #expect(loss?.first == 2 && loss?.last == 5 && loss?.count == 2)
        #expect(again.recovered.subscriptions.first { $0.id == 1 }?.loss == nil)
    }

    @Test func `the usage of a user counts dead letters apart from posted messages`() async throws {
        let store = try await makeStore()
        let letters = (6...8).map { StoredMessage($0, "notifyd.dead.1000", payload: Array(repeating: 0, count: 100)) }
        await store.commit(letters)
        await store.commit([], changes: [.delete(sequences: [7])])
        try store.close(nextSequence: 9)
        let again = try Store.open(path: folder.database)
        #expect(again.recovered.usage == ((1...5).map { StoredMessage($0, "a") } + [letters[0], letters[2]]).usage)
        #expect(again.recovered.usage[1000]?.deadLetterBytes == 2 * (44 + 17 + 100))
    }

    @Test func `a start and a trace read the reasons of failures`() async throws {
        let store = try await makeStore()
        let later = Redelivery(sequence: 2, failures: 2, delayMicroseconds: 7, bytes: 0)
        await store.commit([], changes: [.keep(id: 1, later, reason: "late")])
        var request = PageRequest(
            for: .history, filter: SubscriptionFilter(patterns: [.everyName], object: nil),
            access: ReadAccess(policy: AccessPolicy(), identity: Identity(uid: 0, gid: 0)), after: 3, through: 4,
            maximumMessages: 1)
        request.copiesOf = [1, 2]
        let page = try await completion { store.readPage(request, completion: $0) }.result.get()
        #expect(page.reasons == [1: "why 1"])
        try store.close(nextSequence: 6)
        let reason = try #require(try Store.open(path: folder.database).recovered.failureReasons[1])
        #expect(reason == (2, 2, "late"))
    }

    @Test func `messages of the open segment are deleted without closing it`() async throws {
        let store = try await makeStore()
        await store.commit([StoredMessage(6, "b")], changes: [.delete(sequences: [1, 6])])
        await store.commit([StoredMessage(7, "b")], changes: [.delete(sequences: [2, 3])])
        let segments = try store.queue.wait {
            try store.current.log?.connection.integer("SELECT count(*) FROM segments")
        }
        #expect(segments == 0)
        #expect(try store.allSequences() == [4, 5, 7])
        #expect(await store.commit([], changes: [.delete(sequences: [4, 5, 7])]).statistics.logMessages == 0)
        await store.commit([StoredMessage(8, "a")])
        try store.close(nextSequence: 9)
        #expect(try Store.open(path: folder.database).recovered.usage == [StoredMessage(8, "a")].usage)
        #expect(try FileCheck.run(path: folder.database).findings.isSound)
    }

    @Test func `copies are kept, changed, forgotten and recovered without their messages`() async throws {
        var store = try await makeStore()
        await store.commit([], changes: [copy(4, failures: 2), .delete(sequences: [2, 4])])
        #expect(try store.allSequences() == [1, 3, 5])
        var content = try await store.copies([4, 9, 2])
        #expect(content.block.messages == [StoredMessage(4, "a"), StoredMessage(2, "a")])
        #expect(content.reasons == ["why 2", "why 1"] && content.missing == [9])
        try store.close(nextSequence: 6)
        store = try Store.open(path: folder.database)
        #expect(store.recovered.redeliveries[1]?.map(\.sequence) == [2, 4])
        #expect(store.recovered.redeliveries[1]?.map(\.failures) == [1, 2])
        #expect(store.recovered.subscriptions.map(\.settings) == [DurableSettings(defaultsFor: .group)])
        #expect(store.recovered.usage == [1, 3, 5].map { StoredMessage($0, "a") }.usage)
        await store.commit([], changes: [.forget(id: 1, sequences: [2])])
        content = try await store.copies([2, 4])
        #expect(content.missing == [2] && content.block.entries.map(\.sequence) == [4])
        await store.commit([], changes: [.remove(id: 1), copy(5)])
        #expect(try await store.copies([4, 5]).missing == [4, 5])
        try store.close(nextSequence: 6)
        #expect(try FileCheck.run(path: folder.database).findings.isSound)
    }

    @Test func `a request for more copies than the limit is refused, and later requests succeed`() async throws {
        let store = try await makeStore()
        let sequences = (1...UInt64(RedeliveryRequest.maximumMessages) + 1).map { $0 }
        await #expect(throws: StorageFailure.self) { try await store.copies(sequences) }
        #expect(try await store.copies(Array(sequences.dropLast())).block.entries.map(\.sequence) == [2, 4])
        #expect(await store.commit([StoredMessage(6, "a")]).failure == nil)
        try store.close(nextSequence: 7)
    }

    @Test func `a batch can delete messages that it appends, and the log counts the other messages`() async throws {
        let store = try Store.open(path: folder.database)
        let messages = (1...5).map { StoredMessage($0, "a") }
        let outcome = await store.commit(messages, changes: [.delete(sequences: [1, 2, 5])], reserveBelow: 100)
        #expect(outcome.failure == nil && outcome.statistics.logMessages == 2)
        #expect(try store.allSequences() == [3, 4])
        try store.close(nextSequence: 6)
        let again = try Store.open(path: folder.database)
        #expect(again.recovered.usage == [messages[2], messages[3]].usage)
        #expect(again.recovered.nextSequence == 6)
    }

    @Test func `a batch that is refused because of a moved file changes no copy and deletes no message`() async throws {
        let store = try await makeStore()
        let elsewhere = folder.file("elsewhere")
        for change in [copy(3), .forget(id: 1, sequences: [2]), .delete(sequences: [1]), .remove(id: 1)] {
            try FileManager.default.moveItem(atPath: folder.database, toPath: elsewhere)
            #expect(await store.commit([], changes: [change]).failure != nil)
            try FileManager.default.moveItem(atPath: elsewhere, toPath: folder.database)
            #expect(await store.commit([], changes: []).failure == nil)
            #expect(try await store.copies([2, 3, 4]).missing == [3])
            #expect(try store.allSequences() == [1, 2, 3, 4, 5])
        }
        try store.close(nextSequence: 6)
    }

    @Test(arguments: [
        "failures = 7", "due = 7", "dead = 1", "reason = 'x'", "frame = x'00'", "frame_crc = 1", "crc = 1",
    ])
    func `a damaged copy is not delivered but reported, and a repair leaves it out`(damage: String) async throws {
        var store = try await makeStore()
        try store.close(nextSequence: 6)
        try folder.execute("UPDATE redeliveries SET \(damage) WHERE sequence = 2")
        let repair = try FileRepair.run(path: folder.database)
        #expect(repair.findings.problems.map(\.part) == [.subscription])
        for path in [folder.database, repair.newPath] {
            store = try Store.open(path: path)
            #expect(store.recovered.failure == nil)
            #expect((store.recovered.problem?.contains("are lost (1)") ?? false) == (path == folder.database))
            let content = try await store.copies([2, 4])
            #expect(content.missing == [2] && content.block.messages == [StoredMessage(4, "a")])
            try store.close(nextSequence: repair.nextSequence)
        }
        #expect(try FileCheck.run(path: repair.newPath).findings.isSound)
    }
}
