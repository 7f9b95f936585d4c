import Foundation
import NotifyCenter
import NotifyLog
import NotifySystem
import NotifyWire
import TestSupport
import Testing

@testable import NotifyStore

/// The deletions before a start are known after the start.
@Suite(.timeLimit(.minutes(25)))
struct StoreDeletionRecoveryTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    private static var options: StoreOptions {
        var options = StoreOptions.withoutTimer
        options.segmentMessages = 4
        return options
    }

    /// A store with 20 messages of "a" and "b" in turn, in segments of four, and its mark.
    private func makeStore(_ options: StoreOptions = Self.options) async throws -> (Store, mark: UInt64) {
        let store = try Store.open(path: folder.database, options: options)
        await store.commit((1...20).map { StoredMessage($0, $0 % 2 == 1 ? "a" : "b") }, reserveBelow: 100)
        return (store, try await store.deletionMark())
    }

    // MARK: Starts

    enum End: CaseIterable {
        case stop, kill
    }

    /// Ends a store, and opens its log again.
    private func restart(_ store: Store, _ end: End) throws -> (Store, TemporaryFolder) {
        switch end {
        case .stop:
            try store.close(nextSequence: 21)
            return (try Store.open(path: folder.database, options: Self.options), folder)
        case .kill:
            let crashed = try TemporaryFolder()
            try folder.copyDatabase(to: crashed)
            return (try Store.open(path: crashed.database, options: Self.options), crashed)
        }
    }

    @Test(arguments: End.allCases)
    func `a reader learns after a start of the deletions since its mark, and of no others`(_ end: End) async throws {
        let (first, mark) = try await makeStore()
        try await first.purge("a", before: 16)
        let middle = try await first.deletionMark()
        try await first.purge("b", before: 9)
        let last = try await first.deletionMark()
        #expect(middle > mark && last > middle)

        let (store, other) = try restart(first, end)
        defer { withExtendedLifetime(other) {} }
        #expect(store.recovered.problem == nil)
        #expect(try await store.missed("a", after: 8, since: mark) == Loss(9...15, 4))
        #expect(try await store.missed("a", after: 8, since: middle) == nil)
        #expect(try await store.missed("b", after: 0, since: middle) == Loss(1...8, 4))
        #expect(try await store.missed("b", after: 0, since: last) == nil)
        #expect(try await store.missed("c", after: 0, since: mark) == nil)
        #expect(try await store.missed("b", after: 0, since: 1) == Loss(1...8, 4), "every known deletion")
        let start = try await store.deletionMark()
        #expect(start >= last)

        try await store.purge("b", before: 17)
        #expect(try await store.missed("b", after: 0, since: start) == Loss(9...16, 4))
        #expect(try await store.missed("b", after: 0, since: middle)?.count == 8)
        #expect(try await store.missed("a", after: 8, since: mark) == Loss(9...15, 4))
    }

    /// All messages are deleted, so the log ends before them.
    @Test(arguments: End.allCases)
    func `deletions at the end of the log are reported after a start`(_ end: End) async throws {
        let (first, mark) = try await makeStore()
        try await first.purge(">")
        let (store, other) = try restart(first, end)
        defer { withExtendedLifetime(other) {} }
        #expect(store.recovered.persistedThrough == 0)
        #expect(try await store.missed(">", after: 8, since: mark) == Loss(9...20, 12))
        #expect(try await store.missed("a", after: 20, since: mark) == nil)
    }

    @Test func `the deletions after a migration are kept`() async throws {
        try folder.execute(OldSchema.version6.sql)
        var store = try Store.open(path: folder.database)
        #expect(try await store.missed(">", after: 0, since: 1) == nil)
        let mark = try await store.deletionMark()
        try await store.purge("état")
        try store.close(nextSequence: 9000)
        store = try Store.open(path: folder.database)
        // The bounds are those of the segment.
        #expect(try await store.missed("état", after: 0, since: mark) == Loss(1...8193, 1))
    }

    @Test func `after each transaction, a kill loses no known deletion`() async throws {
        let seed = UInt64.random(in: 0 ... .max)
        var generator = SeededGenerator(seed: seed)
        var store = try Store.open(path: folder.database, options: Self.options)
        let wide = (0..<400).map { "wide.of.a.long.name.\($0)" }
        var next: UInt64 = 1
        for round in 0..<60 {
            let names = [["a", "b"], ["a", "c", "d"], wide].randomElement(using: &generator) ?? []
            let count = UInt64.random(in: 1...30, using: &generator)
            await store.commit(
                (next..<next + count).map { StoredMessage($0, names.randomElement(using: &generator) ?? "a") },
                reserveBelow: 1 << 24)
            next += count
            switch Int.random(in: 0..<4, using: &generator) {
            case 0: try await store.purge("a", before: .random(in: 1...next, using: &generator))
            case 1: try await store.purge("wide.>", before: .random(in: 1...next, using: &generator))
            case 2:
                let sequences = Set((0..<5).map { _ in UInt64.random(in: 1..<next, using: &generator) })
                await store.commit([], changes: [.delete(sequences: sequences.sorted())])
            default: break
            }
            let crashed = try TemporaryFolder()
            try folder.copyDatabase(to: crashed)
            let other = try Store.open(path: crashed.database, options: Self.options)
            #expect(try other.deletionEvents() == store.deletionEvents(), "seed \(seed), round \(round)")
            guard round % 10 == 9 else { continue }
            try store.close(nextSequence: next)
            store = try Store.open(path: folder.database, options: Self.options)
        }
        try store.close(nextSequence: next)
        #expect(try FileCheck.run(path: folder.database).findings.isSound)
    }

    // MARK: Bounds

    @Test(arguments: [3, 10_000])
    func `many rows are summed up, and the sums are known after a start`(names: UInt64) async throws {
        var options = Self.options
        options.segmentMessages = 1
        let store = try Store.open(path: folder.database, options: options)
        let messages = (1...6_000).map { StoredMessage($0, "name.\($0 % names)") }
        for part in 0..<6 { await store.commit(Array(messages[part * 1_000..<part * 1_000 + 1_000])) }
        let mark = try await store.deletionMark()
        var rows: [Int] = []
        for part in 1...6 as ClosedRange<UInt64> {
            try await store.purge(">", before: part * 1_000 + 1)
            let crashed = try TemporaryFolder()
            try folder.copyDatabase(to: crashed)
            rows.append(Int(try crashed.rows("SELECT count(*) FROM deletions")[0]) ?? 0)
            let other = try Store.open(path: crashed.database, options: options)
            #expect(try other.deletionEvents() == store.deletionEvents())
            #expect(try await other.missed(">", after: 0, since: mark)?.count == part * 1_000)
        }
        #expect(rows.allSatisfy { $0 <= DeletionLog.maximumEvents } && rows.contains { $0 > 2_000 }, "\(rows)")
        #expect(try await store.missed("name.1", after: 0, since: mark)?.count ?? 0 >= 2_000)
        // The sums of many names have no name.
        #expect(try await store.missed("other", after: 0, since: mark)?.isUpperBound == (names == 3 ? nil : true))
        try store.close(nextSequence: 6_001)
        #expect(try FileCheck.run(path: folder.database).findings.isSound)
    }

    @Test func `a deletion of many names writes one row that fits in a page`() async throws {
        var options = Self.options
        options.segmentMessages = 4_096
        let store = try Store.open(path: folder.database, options: options)
        let messages = (1...4_096).map { StoredMessage($0, $0 % 8 == 0 ? "often" : "a.rather.long.name.\($0)") }
        await store.commit(messages)
        let mark = try await store.deletionMark()
        let before = try store.totalChanges()
        try await store.purge(">")
        store.maintainToEnd()
        // The segment is inserted when it is closed, which also writes the state, and deleted with its messages. Names
        // are removed in transactions that also write the state.
        let removed = 3_585 + 15
        #expect(try store.totalChanges() - before == 2 + 4_096 + 1 + 1 + removed)
        try store.close(nextSequence: 4_097)
        #expect(try folder.rows("SELECT count(*), max(length(parts)) <= 4000 FROM deletions") == ["1|1"])
        let again = try Store.open(path: folder.database, options: options)
        let others = try #require(await again.missed("other", after: 0, since: mark))
        #expect(others.isUpperBound && (2_000...3_584).contains(others.count))
        #expect(try await again.missed("often", after: 0, since: mark)?.count == 512 + others.count)
        #expect(try await again.missed(">", after: 0, since: mark)?.count == 4_096)
    }

    // MARK: Damage

    @Test(arguments: [
        "parts = x'00'", "parts = x''", "crc = crc + 1", "mark = mark + 1", "mark = 9223372036854775807",
        "parts = zeroblob(100000)",
    ])
    func `readers that began before a row of deletions was damaged get an upper bound`(damage: String) async throws {
        let (first, mark) = try await makeStore()
        var store = first
        try await store.purge("a", before: 16)
        let last = try await store.deletionMark()
        try store.close(nextSequence: 21)
        try folder.execute("UPDATE deletions SET \(damage) WHERE mark = (SELECT max(mark) FROM deletions)")
        let problems = try FileCheck.run(path: folder.database).findings.problems
        #expect(problems.count == 1 && problems[0].text.contains("deletion record"))

        var start: UInt64 = 0
        for isFirst in [true, false] {
            store = try Store.open(path: folder.database, options: Self.options)
            #expect(store.recovered.failure == nil)
            #expect((store.recovered.problem != nil) == isFirst)
            #expect(try await store.everything(SubscriptionFilter(">")).count == 12)
            for mark in [mark, last] {
                #expect(try await store.missed("c", after: 8, since: mark) == Loss(9...20, 12, isUpperBound: true))
            }
            if isFirst { start = try await store.deletionMark() }
            #expect(try await store.missed("c", after: 8, since: start) == nil)
            // The pass replaces the row.
            store.maintainToEnd()
            #expect(await store.commit([]).failure == nil)
            try store.close(nextSequence: 21)
            #expect(try FileCheck.run(path: folder.database).findings.isSound)
        }
    }

    /// Overwrites the only page of the table of deletions.
    private func damageTable() throws {
        let page = try #require(
            Int(folder.rows("SELECT rootpage FROM sqlite_schema WHERE name = 'deletions'").first ?? ""))
        let file = try FileHandle(forWritingTo: URL(fileURLWithPath: folder.database))
        try file.seek(toOffset: UInt64(page - 1) * 4096)
        try file.write(contentsOf: Data(repeating: 0xFF, count: 4096))
        try file.close()
    }

    @Test func `messages are deleted and stored even if the table of deletions can't be read`() async throws {
        let (first, mark) = try await makeStore()
        var store = first
        try await store.purge("a", before: 16)
        try store.close(nextSequence: 21)
        try damageTable()
        for round in 0..<2 as Range<UInt64> {
            store = try Store.open(path: folder.database, options: Self.options)
            #expect(store.recovered.failure == nil && store.recovered.problem != nil)
            let start = try await store.deletionMark()
            #expect(try await store.missed("c", after: 8, since: mark)?.isUpperBound == true)
            #expect(await store.commit([StoredMessage(21 + round, "c")]).failure == nil)
            try await store.purge("c")
            store.maintainToEnd()
            #expect(try await store.missed("c", after: 20, since: start)?.isUpperBound == false)
            #expect(await store.commit([]).failure == nil)
            #expect(try await store.everything(SubscriptionFilter(">")).count == 12)
            try store.close(nextSequence: 22 + round)
        }
        let repair = try FileRepair.run(path: folder.database)
        #expect(repair.messages == 12)
        #expect(try FileCheck.run(path: repair.newPath).findings.isSound)
    }

    @Test func `messages are deleted even if the table of deletions becomes unreadable`() async throws {
        let (store, mark) = try await makeStore()
        let page = try store.withLog { log in
            // The database has all pages, and SQLite keeps none of them in memory.
            try log.disk.checkpoints.run(.truncate)
            return try log.connection.integer("SELECT rootpage FROM sqlite_schema WHERE name = 'deletions'")
        }
        let child = Process()
        child.executableURL = URL(fileURLWithPath: "/bin/sh")
        child.arguments = [
            "-c",
            "tr '\\0' '\\377' </dev/zero | dd bs=4096 count=1 seek=\(page - 1) iflag=fullblock conv=notrunc of=\(folder.database)",
        ]
        child.standardError = FileHandle.nullDevice
        try child.run()
        child.waitUntilExit()
        try store.withLog { try $0.connection.execute("PRAGMA shrink_memory") }
        try await store.purge("a", before: 16)
        #expect(try await store.missed("a", after: 8, since: mark) == Loss(9...15, 4))
        #expect(try store.withLog { $0.deletions.isUnwritable })
        #expect(await store.commit([StoredMessage(21, "a")]).failure == nil)
        #expect(try await store.everything(SubscriptionFilter("a")).map(\.sequence) == [17, 19, 21])
    }

    @Test func `a repair keeps the deletions, and adds the messages that it loses`() async throws {
        let (store, mark) = try await makeStore()
        try await store.purge("a", before: 16)
        let last = try await store.deletionMark()
        try store.close(nextSequence: 21)
        try folder.execute("UPDATE messages SET payload = x'00' WHERE sequence IN (6, 17)")
        let repair = try FileRepair.run(path: folder.database)
        #expect(try FileCheck.run(path: repair.newPath).findings.isSound)
        let repaired = try Store.open(path: repair.newPath)
        #expect(try await repaired.missed("a", after: 8, since: mark) == Loss(9...17, 5))
        #expect(try await repaired.missed("a", after: 0, since: last) == Loss(17...17, 1))
        #expect(try await repaired.missed("b", after: 0, since: mark) == Loss(6...6, 1))
        #expect(try await repaired.missed("c", after: 0, since: mark) == nil)
        #expect(try await repaired.missed(">", after: 0, since: repaired.deletionMark()) == nil)
    }

    @Test func `a repair replaces damaged rows by an upper bound`() async throws {
        let (store, mark) = try await makeStore()
        try await store.purge("a", before: 16)
        try store.close(nextSequence: 21)
        try folder.execute("UPDATE deletions SET crc = crc + 1 WHERE mark = (SELECT min(mark) FROM deletions)")
        let repair = try FileRepair.run(path: folder.database)
        #expect(try FileCheck.run(path: repair.newPath).findings.isSound)
        let repaired = try Store.open(path: repair.newPath)
        #expect(repaired.recovered.problem == nil)
        #expect(try await repaired.missed("c", after: 8, since: mark) == Loss(9...20, 12, isUpperBound: true))
    }

    // MARK: Other logs

    @Test func `readers of the replaced log learn of all deletions of the restored log`() async throws {
        let (store, mark) = try await makeStore()
        try await store.purge("a", before: 16)
        try await store.backUp(to: folder.file("copy"))
        let middle = try await store.deletionMark()
        try await store.purge("b", before: 9)
        let last = try await store.deletionMark()
        try store.close(nextSequence: 21)

        _ = try Store.restore(BackupSource(path: folder.file("copy")), to: folder.database)
        #expect(try FileCheck.run(path: folder.database).findings.isSound)
        let restored = try Store.open(path: folder.database, options: Self.options)
        for mark in [mark, middle, last] {
            #expect(try await restored.missed("a", after: 8, since: mark) == Loss(9...15, 4))
            #expect(try await restored.missed("b", after: 0, since: mark) == nil, "restored")
        }
        let start = try await restored.deletionMark()
        #expect(start > last)
        try await restored.purge("b", before: 9)
        for mark in [last, start] {
            #expect(try await restored.missed("b", after: 0, since: mark) == Loss(1...8, 4))
        }
    }

    /// The time of the replaced log is ahead of that of the restored log.
    @Test func `no mark of the replaced log hides deletions of the restored log`() async throws {
        let clock = ManualClock()
        clock.setWall(aheadBy: .seconds(1 << 30))
        var options = Self.options
        options.clock = clock.storeClock
        let ahead = try Store.open(path: folder.database, options: options)
        await ahead.commit([StoredMessage(1, "a")], reserveBelow: 100)
        let mark = try await ahead.deletionMark()
        try ahead.close(nextSequence: 2)

        let other = try TemporaryFolder()
        let source = try Store.open(path: other.database, options: Self.options)
        await source.commit((1...8).map { StoredMessage($0, "a") }, reserveBelow: 100)
        try await source.backUp(to: other.file("copy"))
        try source.close(nextSequence: 9)
        _ = try Store.restore(BackupSource(path: other.file("copy")), to: folder.database)
        let restored = try Store.open(path: folder.database, options: Self.options)
        #expect(try await restored.deletionMark() > mark)
        try await restored.purge("a")
        #expect(try await restored.missed("a", after: 0, since: mark) == Loss(1...8, 8))
    }

    // MARK: Full disks

    @Test func `a deletion on a full disk does not need room for its row`() async throws {
        FaultyDisk.watch(folder.path)
        let isScarce = LateValue<Bool>()
        var options = Self.options
        options.disk = StoreDisk { path in
            isScarce.value ?? false
                ? DiskSpace(freeBytes: 1 << 19, totalBytes: 1 << 30) : StoreDisk.system.space(path)
        }
        let (store, mark) = try await makeStore(options)
        try store.withLog { log in
            FaultyDisk.set(.full, in: folder.path, count: 1)
            #expect(throws: SQLiteFailure.self) {
                try log.inTransaction(.normal) { _ in log.deletions.note(.init(first: 1, last: 1, count: 1)) }
            }
            FaultyDisk.set(nil, in: folder.path)
            #expect(!log.deletions.isWritable)
        }
        isScarce.value = true
        try await store.purge("a", before: 16)
        #expect(try await store.missed("a", after: 8, since: mark) == Loss(9...15, 4))
        let crashed = try TemporaryFolder()
        try folder.copyDatabase(to: crashed)
        #expect(try crashed.rows("SELECT count(*) FROM deletions") == ["0"])

        // The next transaction finds room again.
        isScarce.value = false
        #expect(await store.commit([StoredMessage(21, "a")]).failure == nil)
        let later = try TemporaryFolder()
        try folder.copyDatabase(to: later)
        let other = try Store.open(path: later.database, options: Self.options)
        #expect(try other.deletionEvents() == store.deletionEvents())
        #expect(try await other.missed("a", after: 8, since: mark) == Loss(9...15, 4))
    }

    @Test(arguments: 0..<16)
    func `a purge succeeds even if one write finds the disk full`(operation: Int) async throws {
        FaultyDisk.watch(folder.path)
        let (store, mark) = try await makeStore()
        FaultyDisk.set(.full, in: folder.path, after: operation, count: 1)
        try await store.purge("a", before: 16)
        FaultyDisk.set(nil, in: folder.path)
        #expect(try await store.missed("a", after: 8, since: mark) == Loss(9...15, 4))
        store.maintainToEnd()
        #expect(await store.commit([StoredMessage(21, "c")]).failure == nil)
        try store.close(nextSequence: 22)
        let again = try Store.open(path: folder.database, options: Self.options)
        #expect(try await again.missed("a", after: 8, since: mark) == Loss(9...15, 4))
    }
}
