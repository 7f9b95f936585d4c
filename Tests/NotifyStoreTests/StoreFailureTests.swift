import Foundation
import NotifyCenter
import NotifyStore
import NotifyLog
import NotifySystem
import NotifyWire
import Testing
import TestSupport

@Suite(.timeLimit(.minutes(25)))
struct StoreFailureTests {
    let folder: TemporaryFolder
    let filter: SubscriptionFilter

    init() throws {
        folder = try TemporaryFolder()
        filter = try SubscriptionFilter(">")
        FaultyDisk.watch(folder.path)
    }

    @Test(arguments: [
        (FaultyDisk.Fault.full, StorageFailure.Kind.full), (.write, .inputOutput),
    ])
    func `batches are refused while writes fail`(fault: FaultyDisk.Fault, kind: StorageFailure.Kind) async throws {
        let store = try Store.open(path: folder.database)
        await store.commit([StoredMessage(1)])
        FaultyDisk.set(fault, in: folder.path)
        for sequence in 2...4 as ClosedRange<UInt64> {
            #expect(await store.commit([StoredMessage(sequence, "name.\(sequence)")]).failure?.kind == kind)
            // Stored messages remain readable.
            #expect(try await store.everything(filter).map(\.sequence) == [1])
        }
        FaultyDisk.set(nil, in: folder.path)
        #expect(await store.commit([StoredMessage(5, "name.5")]).failure == nil)
        #expect(try await store.everything(filter).map(\.sequence) == [1, 5])
        try store.close(nextSequence: 6)

        let again = try Store.open(path: folder.database)
        #expect(again.recovered.wasClosedCleanly)
        #expect(try await again.everything(filter).map(\.name) == ["orders.created", "name.5"])
        try again.close(nextSequence: 6)
    }

    @Test func `a large batch that fills the disk is rolled back`() async throws {
        let store = try Store.open(path: folder.database)
        await store.commit([StoredMessage(1)])
        FaultyDisk.set(.full, in: folder.path)
        // The batch exceeds SQLite's page cache, so SQLite writes pages long before the commit.
        let large = (2...1000).map { StoredMessage($0, payload: Array(repeating: 1, count: 20_000)) }
        let outcome = await store.commit(large)
        #expect(outcome.failure?.kind == .full)
        #expect(outcome.statistics.logMessages == 1)
        FaultyDisk.set(nil, in: folder.path)
        #expect(await store.commit(large).failure == nil)
        #expect(try await store.everything(filter).count == 1000)
        try store.close(nextSequence: 1001)
    }

    @Test func `the commit after a failed flush flushes everything`() async throws {
        let store = try Store.open(path: folder.database)
        await store.commit([StoredMessage(1)])
        FaultyDisk.set(.flush, in: folder.path)
        #expect(await store.commit([StoredMessage(2)], isSynced: true).failure?.kind == .inputOutput)
        // This batch needs no flush itself, but would be appended to data that might not be on disk.
        #expect(await store.commit([StoredMessage(3)]).failure?.kind == .inputOutput)
        FaultyDisk.set(nil, in: folder.path)
        let outcome = await store.commit([StoredMessage(4)])
        #expect(outcome.failure == nil)
        #expect(try await store.everything(filter).map(\.sequence) == [1, 4])
        try store.close(nextSequence: 5)
    }

    @Test func `a synced batch flushes even if it changes nothing`() async throws {
        let record = DurableRecord(id: 1, name: "one", filter)
        let batches = [
            CommitBatch(id: 1, isSynced: true), CommitBatch(id: 2, blocks: [LogBlock()], isSynced: true),
            CommitBatch(id: 3, changes: [.remove(id: 7)], isSynced: true),
            CommitBatch(id: 4, changes: [.update(id: 1, record.progress)], isSynced: true),
            CommitBatch(id: 5, reserveBelow: 100),
        ]
        let store = try Store.open(path: folder.database)
        await store.commit([StoredMessage(1)], changes: [.create(record)], reserveBelow: 100)
        for batch in batches {
            FaultyDisk.set(.flush, in: folder.path)
            #expect(await store.commit(batch).failure?.kind == .inputOutput, "batch \(batch.id) did not flush")
            FaultyDisk.set(nil, in: folder.path)
            #expect(await store.commit(batch).failure == nil)
        }
        try store.close(nextSequence: 2)
    }

    @Test func `a failed checkpoint is tried again`() async throws {
        var options = StoreOptions()
        options.checkpointBytes = 64 * 1024
        let store = try Store.open(path: folder.database, options: options)
        FaultyDisk.set(.flush, in: folder.path)
        var sequence: UInt64 = 0
        var failures = 0
        for _ in 0..<60 {
            sequence += 1
            let payload = Array(repeating: UInt8(1), count: 4000)
            if await store.commit([StoredMessage(sequence, payload: payload)]).failure != nil { failures += 1 }
        }
        #expect(failures > 0)
        FaultyDisk.set(nil, in: folder.path)
        #expect(await store.commit([StoredMessage(sequence + 1)]).failure == nil)
        #expect(try await store.everything(filter).count == Int(sequence) + 1 - failures)
        try store.close(nextSequence: sequence + 2)
    }

    private var reserveBytes: Int {
        get throws {
            try FileManager.default.attributesOfItem(atPath: folder.database + ".reserve")[.size] as? Int ?? 0
        }
    }

    @Test func `closing a segment because of its age does not use the reserve of a full disk`() async throws {
        var options = StoreOptions.withoutTimer
        let clock = ManualClock()
        options.clock = clock.storeClock
        options.segmentAge = .seconds(60)
        let store = try Store.open(path: folder.database, options: options)
        await store.commit(
            [StoredMessage(1)], changes: [.create(DurableRecord(id: 2, uid: 7, name: "other", filter))])
        let whole = try reserveBytes
        #expect(whole > 0)
        FaultyDisk.set(.full, in: folder.path)
        clock.advance(by: .seconds(61))
        store.maintainIfDue()
        while store.isMaintaining() {}
        #expect(try reserveBytes == whole)

        let record = DurableRecord(id: 1, uid: 7, name: "d", filter)
        #expect(await store.commit([], changes: [.create(record)]).failure?.kind == .full)
        let rest = try reserveBytes
        #expect(rest > 0 && rest < whole, "the part for other changes was used")
        #expect(await store.commit([], changes: [.create(record)]).failure?.kind == .full)
        #expect(try reserveBytes == rest, "the other part is for deletions")
        #expect(await store.commit([], changes: [.remove(id: 2)]).failure?.kind == .full)
        #expect(!exists(folder.database + ".reserve"))
        FaultyDisk.set(nil, in: folder.path)
        #expect(await store.commit([], changes: [.create(record)]).failure == nil)
        store.maintainIfDue()
        while store.isMaintaining() {}
        #expect(try await store.everything(filter).map(\.sequence) == [1])
        try store.close(nextSequence: 2)
    }

    @Test func `a stop that can't be written counts as a crash`() async throws {
        let store = try Store.open(path: folder.database)
        await store.commit([StoredMessage(1)], reserveBelow: 1000)
        FaultyDisk.set(.write, in: folder.path)
        let error = try #require(throws: StoreError.self) { try store.close(nextSequence: 2) }
        #expect(error.code == .inputOutput)
        FaultyDisk.set(nil, in: folder.path)
        let again = try Store.open(path: folder.database)
        #expect(!again.recovered.wasClosedCleanly)
        #expect(again.recovered.nextSequence == 2)
        try again.close(nextSequence: 2)
    }

    @Test func `damage is reported by the read that finds it`() async throws {
        var store = try Store.open(path: folder.database)
        await store.commit((1...6000).map { StoredMessage($0, payload: Array(repeating: 1, count: 500)) })
        try store.close(nextSequence: 6001)
        var bytes = try Data(contentsOf: URL(fileURLWithPath: folder.database))
        // Overwrites some of the pages that contain messages.
        let start = bytes.count / 4 / 4096 * 4096
        for index in start..<start + 40_960 { bytes[index] = UInt8.random(in: 100...255) }
        try bytes.write(to: URL(fileURLWithPath: folder.database))

        store = try Store.open(path: folder.database)
        await #expect(throws: StorageFailure.self) { try await store.everything(filter) }
        let last = try await store.page(filter, after: 5990)
        #expect(last.block.entries.count == 10)
        #expect(await store.commit([StoredMessage(6001)]).failure?.kind == .damaged)
        try store.close(nextSequence: 6002)
    }
}
