import Glibc
@_spi(Package) import NotifyCenter
import NotifyLog
import NotifyWire
import TestSupport
import Testing

@testable import NotifyStore

/// Returning the space of deleted messages to the file system, without a later post.
@Suite(.timeLimit(.minutes(25)))
struct ReturnedSpaceTests {
    private let folder: TemporaryFolder
    private let clock = ManualClock()

    init() throws {
        folder = try TemporaryFolder()
    }

    private func size(_ path: String) -> UInt64 {
        var status = stat()
        return stat(path, &status) == 0 ? UInt64(status.st_size) : 0
    }

    /// Runs the timer once per second, for a minute.
    private func runTimer(of store: Store) {
        for _ in 1...60 {
            clock.advance(by: .seconds(1))
            store.maintainIfDue()
            while store.isMaintaining() {}
        }
    }

    private func rule(_ pattern: String, maximumBytes: UInt64? = nil, maximumMessages: UInt64? = nil) throws
        -> RetentionRule
    {
        var rule = RetentionRule(patterns: [try NamePattern(pattern)])
        (rule.maximumBytes, rule.maximumMessages) = (maximumBytes, maximumMessages)
        return rule
    }

    private func store(_ count: UInt64, bytes: Int, in store: Store, names: [String] = ["a"]) async {
        let payload = [UInt8](repeating: 7, count: bytes)
        for first in stride(from: UInt64(1), through: count, by: 500) {
            await store.commit(
                (first..<min(first + 500, count + 1)).map {
                    StoredMessage($0, names[Int($0) % names.count], payload: payload)
                })
        }
    }

    private func expectSmallFiles(_ store: Store, walLimit: UInt64) throws {
        let (database, wal) = (size(folder.database), size(folder.database + "-wal"))
        let used = try #require(store.queue.wait { try? store.current.log?.disk.countUsedBytes() })
        #expect(database <= used * 5 / 4 + (8 << 20), "\(database) bytes for \(used)")
        #expect(wal <= walLimit, "the write-ahead log has \(wal) bytes")
    }

    /// Nearly all of 60 MB are deleted after the last post.
    @Test func `the files are small a minute after a rule deletes a burst, without a further post`() async throws {
        var options = StoreOptions.withoutTimer
        options.clock = clock.storeClock
        options.retention.maximumBytes = 128 << 20
        let store = try Store.open(path: folder.database, options: options)
        let reported = Lock(StoreStatistics())
        store.setDeletionHandler { deletion in
            if let statistics = deletion.statistics { reported.withLock { $0 = statistics } }
        }
        await self.store(6000, bytes: 10_000, in: store)
        options.retention.configuredRules = [try rule("a", maximumBytes: 4 << 20)]
        store.setRetention(options.retention)
        runTimer(of: store)
        let kept = try #require(store.queue.wait { store.current.log?.statistics.logMessages })
        #expect(kept > 300 && kept < 700)
        try expectSmallFiles(store, walLimit: 16 << 20)
        let statistics = reported.withLock { $0 }
        #expect(statistics.logBytes == size(folder.database) && statistics.walBytes == size(folder.database + "-wal"))
        try store.close(nextSequence: 7000)
        #expect(try folder.rows("PRAGMA integrity_check") == ["ok"])
        #expect(try FileCheck.run(path: folder.database).findings.isSound)
    }

    @Test func `the files are small a minute after a purge, without a further post`() async throws {
        var options = StoreOptions.withoutTimer
        options.clock = clock.storeClock
        options.retention.maximumBytes = 256 << 20
        let store = try Store.open(path: folder.database, options: options)
        await self.store(4000, bytes: 10_000, in: store)
        #expect(size(folder.database) + size(folder.database + "-wal") > 30 << 20)
        let request = PurgeRequest(filter: SubscriptionFilter(patterns: [">"]), before: .max)
        _ = try await completion { store.purge(request, completion: $0) }.get()
        runTimer(of: store)
        try expectSmallFiles(store, walLimit: 32 << 20)
        try store.close(nextSequence: 5000)
    }

    /// The messages of two names are mixed, and those of one name are deleted.
    @Test(arguments: [(100, 1), (1000, 1), (400, 3), (2500, 1)])
    func `the pages of messages that remain between deleted messages are filled again`(bytes: Int, others: Int)
        async throws
    {
        let names = ["kept"] + Array(repeating: "deleted", count: others)
        let count: UInt64 = 9000
        var options = StoreOptions.withoutTimer
        options.clock = clock.storeClock
        options.retention.configuredRules = [try rule("deleted", maximumMessages: 1)]
        let store = try Store.open(path: folder.database, options: options)
        await self.store(count, bytes: bytes, in: store, names: names)
        store.maintainToEnd()
        #expect(store.queue.wait { store.current.log?.statistics.logMessages } ?? 0 < count)
        try store.close(nextSequence: 10_000)
        #expect(try FileCheck.run(path: folder.database).findings.isSound)
        let counts = try (folder.rows("PRAGMA page_count") + folder.rows("PRAGMA freelist_count")).compactMap(Int.init)
        try folder.execute("VACUUM")
        let least = try folder.rows("PRAGMA page_count").compactMap(Int.init)[0]
        #expect((counts[0] - counts[1]) * 4 <= least * 5 + 40, "\(counts) pages in place of \(least)")
    }
}
