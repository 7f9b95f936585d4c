import Foundation
import NotifyLog
import NotifySystem
import NotifyWire
import TestSupport
import Testing

@testable import NotifyStore

/// Starts on a full disk. The log opens, refuses commits, and works once there is disk space.
@Suite(.timeLimit(.minutes(25)))
struct FullDiskStartTests {
    let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        FaultyDisk.watch(folder.path)
    }

    /// The disk becomes full after `operation` file operations. The numbers range from SQLite's first write to its last
    /// one.
    @Test(arguments: [1, 4, 8, 12])
    func `a new log is created once there is disk space`(operation: Int) async throws {
        FaultyDisk.set(.full, in: folder.path, after: operation)
        let store = try Store.open(path: folder.database)
        #expect(store.recovered.nextSequence == 1)
        #expect(store.recovered.usableBelow == 1 + 1 << 32)
        store.sequencesUsed(below: 40)
        for _ in 0..<2 { #expect(await store.commit([], reserveBelow: 5000).failure?.kind == .full) }
        await #expect(throws: StorageFailure.self) { try await store.page(SubscriptionFilter(">"), after: 0).block }

        FaultyDisk.set(nil, in: folder.path)
        let record = try DurableRecord(id: 1, name: "one", SubscriptionFilter("a"))
        let outcome = await store.commit([StoredMessage(40)], changes: [.create(record)], reserveBelow: 5000)
        #expect(outcome.failure == nil)
        #expect(try await store.everything(SubscriptionFilter(">")).map(\.sequence) == [40])
        try store.close(nextSequence: 41)
        let again = try Store.open(path: folder.database)
        #expect(again.recovered.wasClosedCleanly)
        #expect(again.recovered.nextSequence == 41)
        #expect(again.recovered.subscriptions == [record])
        try again.close(nextSequence: 41)
    }

    @Test(arguments: [true, false])
    func `without a log, no sequence is used twice`(isKilled: Bool) async throws {
        for next in [1, 40, 80] as [UInt64] {
            FaultyDisk.set(.full, in: folder.path, after: 1)
            let store = try Store.open(path: folder.database)
            #expect(store.recovered.nextSequence == next)
            store.sequencesUsed(below: next == 1 ? 40 : 80)
            if !isKilled { try store.close(nextSequence: next == 1 ? 40 : 80) }
        }
        FaultyDisk.set(nil, in: folder.path)
        for _ in 0..<2 {
            let store = try Store.open(path: folder.database)
            #expect(store.recovered.nextSequence == 80)
            try store.close(nextSequence: 80)
        }
    }

    /// Without a record of the used sequences, the next start could use these sequences again.
    @Test func `without shared memory, no sequence is usable before a reservation`() async throws {
        let mark = try SequenceMark(ofMissing: folder.database)
        #expect(chmod("/dev/shm" + mark.name, 0o666) == 0)
        FaultyDisk.set(.full, in: folder.path, after: 1)
        let store = try Store.open(path: folder.database)
        #expect(store.recovered.nextSequence == 1)
        #expect(store.recovered.usableBelow == 1)
        FaultyDisk.set(nil, in: folder.path)
        #expect(await store.commit([StoredMessage(1)], reserveBelow: 100).failure == nil)
        try store.close(nextSequence: 2)
    }

    @Test(arguments: [true, false]) func `an existing log is read, and continues its sequences`(wasClean: Bool)
        async throws
    {
        let record = try DurableRecord(id: 1, name: "one", SubscriptionFilter("a"))
        var store: Store? = try Store.open(path: folder.database)
        await store?.commit([StoredMessage(1)], changes: [.create(record)], reserveBelow: 5000)
        store?.sequencesUsed(below: 10)
        if wasClean { try store?.close(nextSequence: 10) }
        store = nil

        // The write-ahead log can be created, but not written.
        FaultyDisk.set(.full, in: folder.path, after: 2)
        store = try Store.open(path: folder.database)
        #expect(store?.recovered.wasClosedCleanly == wasClean)
        #expect(store?.recovered.nextSequence == 10)
        #expect(store?.recovered.subscriptions == [record])
        #expect(try await store?.everything(SubscriptionFilter(">")).map(\.sequence) == [1])
        #expect(await store?.commit([], reserveBelow: 1 << 33).failure?.kind == .full)
        store?.sequencesUsed(below: 30)
        store = nil

        // Releasing the store without closing it has the effect of a kill. The disk was full, so the database does not
        // contain the used sequences.
        FaultyDisk.set(.full, in: folder.path, after: 2)
        store = try Store.open(path: folder.database)
        #expect(store?.recovered.nextSequence == 30)
        store?.sequencesUsed(below: 50)
        FaultyDisk.set(nil, in: folder.path)
        #expect(await store?.commit([StoredMessage(49)], reserveBelow: 1 << 33).failure == nil)
        store = nil
        store = try Store.open(path: folder.database)
        #expect(store?.recovered.wasClosedCleanly == false)
        #expect(store?.recovered.nextSequence == 50)
        #expect(try await store?.everything(SubscriptionFilter(">")).map(\.sequence) == [1, 49])
        try store?.close(nextSequence: 50)
    }

    @Test func `a stop on a full disk keeps the next sequence`() async throws {
        let store = try Store.open(path: folder.database)
        await store.commit([StoredMessage(1)], reserveBelow: 5000)
        store.sequencesUsed(below: 20)
        FaultyDisk.set(.full, in: folder.path)
        let error = try #require(throws: StoreError.self) { try store.close(nextSequence: 20) }
        #expect(error.code == .full)
        FaultyDisk.set(nil, in: folder.path)
        let again = try Store.open(path: folder.database)
        #expect(again.recovered.nextSequence == 20)
        #expect(try await again.everything(SubscriptionFilter(">")).map(\.sequence) == [1])
        try again.close(nextSequence: 20)
    }

    @Test func `a log that appeared after the start is not replaced`() async throws {
        let other = try TemporaryFolder()
        let theirs = try Store.open(path: other.database)
        await theirs.commit([StoredMessage(7)])
        try theirs.close(nextSequence: 8)

        FaultyDisk.set(.full, in: folder.path, after: 1)
        let store = try Store.open(path: folder.database)
        try moveFile(other.database, to: folder.database)
        FaultyDisk.set(nil, in: folder.path)
        for _ in 0..<2 {
            let failure = await store.commit([StoredMessage(1)]).failure
            #expect(failure?.message.contains("another log has appeared at '\(folder.database)'") == true)
        }
        try store.close(nextSequence: 2)
        let again = try Store.open(path: folder.database)
        #expect(again.recovered.wasClosedCleanly)
        #expect(again.recovered.nextSequence == 8)
        try again.close(nextSequence: 8)
    }
}
