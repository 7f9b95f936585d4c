import Foundation
import Glibc
import NotifyLog
import NotifyStore
import NotifySystem
import TestSupport
import Testing

/// The limits of the log's size and of the free space on its disk.
@Suite(.timeLimit(.minutes(25)))
struct StoreCapacityTests {
    let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        FaultyDisk.watch(folder.path)
    }

    /// More free space than any disk has.
    private static let tooMuch: UInt64 = 1 << 60

    private func message(_ sequence: UInt64, bytes: Int = 20_000) -> StoredMessage {
        StoredMessage(sequence, payload: Array(repeating: 1, count: bytes))
    }

    @Test func `while disk space is short, messages are refused, but changes are committed`() async throws {
        var options = StoreOptions()
        options.retention.minimumFreeBytes = Self.tooMuch
        let store = try Store.open(path: folder.database, options: options)
        let failure = await store.commit([message(1)]).failure
        #expect(failure?.kind == .full)
        #expect(failure?.message.contains("fewer than the \(Self.tooMuch) of log.min_free_bytes") == true)
        #expect(failure?.message.contains("\(folder.path)' has") == true)
        #expect(await store.commit(CommitBatch(id: 2, isProbe: true)).failure?.kind == .full)
        let record = try DurableRecord(id: 1, name: "one", SubscriptionFilter(">"))
        #expect(await store.commit([], changes: [.create(record)], reserveBelow: 10_000).failure == nil)

        store.setRetention(RetentionPolicy())
        #expect(await store.commit(CommitBatch(id: 3, isProbe: true)).failure == nil)
        #expect(await store.commit([message(1)]).failure == nil)
        try store.close(nextSequence: 2)
    }

    @Test func `changes are committed while the log is full, and make room`() async throws {
        var options = StoreOptions.withoutTimer
        options.segmentMessages = 50
        options.retention.maximumBytes = 8 << 20
        options.retention.maximumBacklog = .unlimited
        let store = try Store.open(path: folder.database, options: options)
        let record = try DurableRecord(id: 1, name: "one", SubscriptionFilter(">"))
        #expect(await store.commit([], changes: [.create(record)]).failure == nil)
        var last: UInt64 = 0
        while await store.commit([message(last + 1)]).failure == nil { last += 1 }
        #expect(last > 10)
        let read = DurableChange.update(id: 1, DurableProgress(cursor: last, seenThrough: last))
        let outcome = await store.commit(CommitBatch(id: 2, changes: [read], isProbe: true))
        #expect(outcome.failure == nil && outcome.remainingFailure?.kind == .full)
        // All messages are read now, so the history is deleted to make room.
        #expect(await store.commit(CommitBatch(id: 3, isProbe: true)).failure == nil)
        #expect(await store.commit([message(last + 1)]).failure == nil)
        try store.close(nextSequence: last + 2)
        let again = try Store.open(path: folder.database)
        #expect(again.recovered.subscriptions.first?.progress.cursor == last)
        try again.close(nextSequence: last + 2)
    }

    @Test func `with a minimum of zero, messages may use the whole disk`() async throws {
        var options = StoreOptions()
        options.retention.minimumFreeBytes = 0
        let store = try Store.open(path: folder.database, options: options)
        #expect(await store.commit([message(1)]).failure == nil)
        try store.close(nextSequence: 2)
    }

    @Test func `a changed limit applies to the commits that follow`() async throws {
        let store = try Store.open(path: folder.database)
        #expect(await store.commit([message(1)]).statistics.logByteLimit == 10 << 30)
        var policy = RetentionPolicy()
        policy.maximumBytes = 1
        store.setRetention(policy)
        let refused = await store.commit([message(2)])
        #expect(
            refused.failure?.message
                == "the log has reached log.max_bytes (1 bytes), and no history is left to delete: "
                + "\"notifyctl durable list\" shows which durable subscriptions are behind")
        #expect(refused.statistics.logByteLimit == 1)
        policy.maximumBytes = nil
        store.setRetention(policy)
        let accepted = await store.commit([message(2)])
        #expect(accepted.failure == nil && accepted.statistics.logByteLimit == nil)
        try store.close(nextSequence: 3)
    }

    @Test func `a policy applies to a log that is created later`() async throws {
        FaultyDisk.set(.full, in: folder.path, after: 1)
        let store = try Store.open(path: folder.database)
        var policy = RetentionPolicy()
        policy.minimumFreeBytes = Self.tooMuch
        store.setRetention(policy)
        FaultyDisk.set(nil, in: folder.path)
        #expect(await store.commit([], reserveBelow: 100).failure == nil)
        #expect(await store.commit([message(1)]).failure?.message.contains("log.min_free_bytes") == true)
        try store.close(nextSequence: 2)
    }

    @Test func `the write-ahead log is checkpointed before a message is refused`() async throws {
        let store = try Store.open(path: folder.database)
        for sequence in 1...100 as ClosedRange<UInt64> {
            #expect(await store.commit([message(sequence)]).failure == nil)
        }
        // The database alone, of 2 MiB, fits in the limit; together with its write-ahead log it does not.
        var policy = RetentionPolicy()
        policy.maximumBytes = 3 << 20
        store.setRetention(policy)
        #expect(await store.commit([message(101)]).failure == nil)
        #expect(try await store.everything(SubscriptionFilter(">")).count == 101)
        try store.close(nextSequence: 102)
    }

    @Test func `the write-ahead log is checkpointed early enough to leave room for messages`() async throws {
        var options = StoreOptions()
        options.retention.maximumBytes = 2 << 20
        options.retention.maximumBacklog = .unlimited
        let store = try Store.open(path: folder.database, options: options)
        // Without a subscription, older messages would be deleted to make room.
        try await store.commit([], changes: [.create(DurableRecord(id: 1, name: "one", SubscriptionFilter(">")))])
        var sequence: UInt64 = 1
        while await store.commit([message(sequence)]).failure == nil, sequence < 1000 { sequence += 1 }
        // At 5 pages each, at most 102 messages fit in 2 MiB (512 pages).
        #expect((90...102).contains(sequence))
        try store.close(nextSequence: sequence)
    }

    @Test func `the files of a full log take little more than its limit`() async throws {
        var options = StoreOptions.withoutTimer
        options.retention.maximumBytes = 8 << 20
        options.retention.maximumBacklog = .unlimited
        options.segmentBytes = 100_000
        let store = try Store.open(path: folder.database, options: options)
        var (largest, last) = (0, 0)
        for sequence in 1...1000 as ClosedRange<UInt64> {
            try #require(await store.commit([message(sequence)]).failure == nil)
            last = try fileBytes
            largest = max(largest, last)
        }
        #expect(largest < 10 << 20)
        #expect(last > 6 << 20)
        try store.close(nextSequence: 1001)
    }

    @Test func `a header that counts more free pages than pages is reported as damage`() async throws {
        let store = try Store.open(path: folder.database)
        #expect(await store.commit([message(1)]).failure == nil)
        try store.close(nextSequence: 2)
        let url = URL(fileURLWithPath: folder.database)
        var data = try Data(contentsOf: url)
        // Changes the count of free pages in the header.
        data.replaceSubrange(36..<40, with: [0, 1, 0, 0])
        try data.write(to: url)
        let damaged = try Store.open(path: folder.database)
        #expect(await damaged.commit([message(2)]).failure?.kind == .damaged)
        try? damaged.close(nextSequence: 3)
    }

    /// The sizes of the database and its write-ahead log together.
    private var fileBytes: Int {
        get throws {
            try ["", "-wal"].reduce(0) { sum, suffix in
                let attributes = try FileManager.default.attributesOfItem(atPath: folder.database + suffix)
                return sum + (attributes[.size] as? Int ?? 0)
            }
        }
    }

    @Test(arguments: [0, 100, 1_500, 2_100, 4_000, 5_000, 70_000])
    func `messages of any size fill the log up to its limit and no further`(_ bytes: Int) async throws {
        var options = StoreOptions()
        options.retention.maximumBytes = 2 << 20
        options.retention.maximumBacklog = .unlimited
        let store = try Store.open(path: folder.database, options: options)
        try await store.commit([], changes: [.create(DurableRecord(id: 1, name: "one", SubscriptionFilter(">")))])
        var sequence: UInt64 = 1
        while await store.commit((0..<20).map { message(sequence + $0, bytes: bytes) }).failure == nil {
            sequence += 20
        }
        try store.close(nextSequence: sequence)
        let size = try FileManager.default.attributesOfItem(atPath: folder.database)[.size] as? Int ?? 0
        #expect((1 << 20...2 << 20).contains(size))
    }

    @Test(arguments: [false, true])
    func `history is deleted to make room for later messages when the log is nearly full`(
        _ isUnread: Bool
    ) async throws {
        var options = StoreOptions.withoutTimer
        options.retention.maximumBytes = 4 << 20
        options.retention.maximumBacklog = .unlimited
        options.segmentMessages = 4
        let store = try Store.open(path: folder.database, options: options)
        let deletions = Deletions()
        store.setDeletionHandler { deletions.add($0) }
        if isUnread {
            try await store.commit([], changes: [.create(DurableRecord(id: 1, name: "one", SubscriptionFilter(">")))])
        }
        // At 5 pages each, the messages take more than 15/16 of the 1,024 pages.
        #expect(await store.commit((1...195).map { message($0) }).failure == nil)
        store.maintainToEnd()
        let kept = try await store.everything(SubscriptionFilter(">")).map(\.sequence)
        #expect(kept.last == 195 && kept == Array(196 - UInt64(kept.count)...195), "the oldest messages are deleted")
        #expect((isUnread ? 195...195 : 180...191).contains(kept.count))
        #expect(deletions.all.madeRoom == !isUnread)
        try store.close(nextSequence: 196)
        let pages = try folder.rows("SELECT page_count - freelist_count FROM pragma_page_count, pragma_freelist_count")
        let used = try #require(pages.first.flatMap { Int($0) })
        #expect((isUnread ? 961...1024 : 900...960).contains(used))
    }

    @Test func `history is deleted before a message is refused`() async throws {
        var options = StoreOptions.withoutTimer
        options.retention.maximumBytes = 4 << 20
        options.retention.maximumBacklog = .unlimited
        options.segmentBytes = 100_000
        let store = try Store.open(path: folder.database, options: options)
        let deletions = Deletions()
        store.setDeletionHandler { deletions.add($0) }
        for sequence in 1...1000 as ClosedRange<UInt64> {
            try #require(await store.commit([message(sequence)]).failure == nil)
        }
        store.maintainToEnd()
        let kept = try await store.everything(SubscriptionFilter(">")).map(\.sequence)
        #expect(kept == Array(1001 - UInt64(kept.count)...1000), "the oldest messages are deleted")
        #expect(kept.count > 100, "of about 200 that have room")
        #expect(deletions.all.losses.isEmpty)
        #expect(deletions.all.usage.values.reduce(0) { $0 + $1.messages } == 1000 - kept.count)

        // Unread messages are not deleted to make room.
        try await store.commit([], changes: [.create(DurableRecord(id: 1, name: "one", SubscriptionFilter(">")))])
        var sequence: UInt64 = 1001
        while await store.commit([message(sequence)]).failure == nil, sequence < 2000 { sequence += 1 }
        #expect(sequence < 1210)
        #expect(try await store.everything(SubscriptionFilter(">")).map(\.sequence).contains(kept[kept.count - 1]))
        #expect(await store.commit(CommitBatch(id: 3, isProbe: true)).failure?.kind == .full)
        await store.commit([], changes: [.update(id: 1, DurableProgress(cursor: 2000, seenThrough: 2000))])
        #expect(await store.commit(CommitBatch(id: 4, isProbe: true)).failure == nil)
        #expect(await store.commit([message(sequence)]).failure == nil)
        try store.close(nextSequence: 2001)
        #expect(try folder.rows("PRAGMA integrity_check") == ["ok"])
    }

    /// A disk of `totalBytes` that contains only the database and its write-ahead log.
    private func disk(of totalBytes: UInt64) -> StoreDisk {
        StoreDisk { [database = folder.database] _ in
            let used: UInt64 = [database, database + "-wal"].reduce(0) { bytes, path in
                bytes + Self.fileBytes(path)
            }
            return DiskSpace(freeBytes: totalBytes - min(used, totalBytes), totalBytes: totalBytes)
        }
    }

    @Test func `history is deleted on a small disk, and its space returns to the file system`() async throws {
        var options = StoreOptions.withoutTimer
        options.retention.maximumBytes = nil
        options.retention.minimumFreeBytes = 1 << 20
        options.disk = disk(of: 5 << 20)
        options.segmentBytes = 100_000
        options.checkpointBytes = 256 << 10
        let store = try Store.open(path: folder.database, options: options)
        for sequence in 1...500 as ClosedRange<UInt64> {
            try #require(await store.commit([message(sequence)]).failure == nil, "message \(sequence)")
            let free = try #require(options.disk.space(folder.database)?.freeBytes)
            // Deletions write to the write-ahead log although less than the minimum is free.
            #expect(free > 1 << 19, "at least half of the minimum stays free")
        }
        let kept = try await store.everything(SubscriptionFilter(">")).map(\.sequence)
        #expect(kept == Array(501 - UInt64(kept.count)...500) && kept.count > 80)

        // Unread messages are not deleted to make room.
        try await store.commit([], changes: [.create(DurableRecord(id: 1, name: "one", SubscriptionFilter(">")))])
        var sequence: UInt64 = 501
        while await store.commit([message(sequence)]).failure == nil, sequence < 1000 { sequence += 1 }
        #expect((501..<700).contains(sequence))
        await store.commit([], changes: [.update(id: 1, DurableProgress(cursor: 1000, seenThrough: 1000))])
        #expect(await store.commit([message(sequence)]).failure == nil)
        try store.close(nextSequence: 1001)
        #expect(try folder.rows("PRAGMA integrity_check") == ["ok"])
    }

    private static let smallDiskBytes: UInt64 = 12 << 20

    private static func fileBytes(_ path: String) -> UInt64 {
        var status = stat()
        return stat(path, &status) == 0 ? UInt64(status.st_size) : 0
    }

    /// Without this room, no checkpoint could run. So every write, also that of a deletion, would have to make the
    /// write-ahead log grow, which fails on a full disk.
    @Test(arguments: [20_000, 500_000])
    func `messages leave room on the disk for a checkpoint of the write-ahead log`(bytes: Int) async throws {
        var options = StoreOptions.withoutTimer
        options.retention.maximumBytes = nil
        options.retention.minimumFreeBytes = 0
        options.disk = disk(of: Self.smallDiskBytes)
        options.checkpointBytes = 64 << 20
        let store = try Store.open(path: folder.database, options: options)
        try await store.commit([], changes: [.create(DurableRecord(id: 1, name: "one", SubscriptionFilter(">")))])
        var sequence: UInt64 = 0
        while sequence < 1000, await store.commit([message(sequence + 1, bytes: bytes)]).failure == nil {
            sequence += 1
        }
        // Both files need room for the last messages.
        #expect((4 << 20)...(11 << 20) ~= Int(sequence) * bytes)
        let walBytes = Self.fileBytes(folder.database + "-wal")
        try store.close(nextSequence: sequence + 1)
        #expect(Self.fileBytes(folder.database) + walBytes <= Self.smallDiskBytes)
    }
}
