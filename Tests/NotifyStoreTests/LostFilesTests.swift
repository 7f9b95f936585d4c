import Foundation
import NotifyLog
import NotifyStore
import NotifySystem
import NotifyWire
import TestSupport
import Testing

/// A log whose files are deleted, replaced or truncated while the log is open. A commit must succeed only if the next
/// start will find its messages.
@Suite(.timeLimit(.minutes(25)))
final class LostFilesTests {
    let folder: TemporaryFolder
    let store: Store
    let filter: SubscriptionFilter
    let record: DurableRecord
    /// The suffix of the name of the log's sequence mark in shared memory.
    private let markSuffix: String

    init() async throws {
        folder = try TemporaryFolder()
        filter = try SubscriptionFilter(">")
        record = DurableRecord(id: 1, uid: 7, name: "one", filter)
        store = try Store.open(path: folder.database)
        var status = stat()
        try #require(stat(folder.database, &status) == 0)
        markSuffix = "-\(status.st_dev)-\(status.st_ino)"
        await store.commit([StoredMessage(1)], changes: [.create(record)], reserveBelow: 5000)
    }

    deinit {
        // `TemporaryFolder` finds a mark by the inode of the database, but the test may have deleted the database.
        for name in (try? FileManager.default.contentsOfDirectory(atPath: "/dev/shm")) ?? []
        where name.hasSuffix(markSuffix) { unlink("/dev/shm/" + name) }
    }

    enum Loss: CaseIterable, Sendable {
        case deleted
        case replaced
        case cut
        case walDeleted
        case walReplaced
        case walCut

        var words: String {
            switch self {
            case .deleted, .walDeleted: "was deleted or moved away"
            case .replaced, .walReplaced: "was replaced by another file"
            case .cut, .walCut: "was truncated from"
            }
        }

        func apply(to folder: TemporaryFolder) throws {
            let path =
                switch self {
                case .deleted, .replaced, .cut: folder.database
                case .walDeleted, .walReplaced, .walCut: folder.database + "-wal"
                }
            switch self {
            case .deleted, .walDeleted: #expect(unlink(path) == 0)
            case .replaced, .walReplaced:
                #expect(unlink(path) == 0)
                _ = try folder.write("theirs", to: String(path.dropFirst(folder.path.count + 1)))
            case .cut, .walCut: #expect(truncate(path, 100) == 0)
            }
        }
    }

    private func continuation(_ records: [DurableRecord]) -> LogContinuation {
        LogContinuation(reservedBelow: 5000, nextSubscriptionID: 9, subscriptions: records)
    }

    @Test(arguments: Loss.allCases)
    func `no commit succeeds after a file was deleted, replaced or truncated`(_ loss: Loss) async throws {
        try loss.apply(to: folder)
        for sequence in 2...4 as ClosedRange<UInt64> {
            let failure = try #require(await store.commit([StoredMessage(sequence)], isSynced: sequence == 3).failure)
            #expect(failure.kind == .inputOutput)
            #expect(failure.message.contains(loss.words), "\(failure)")
            #expect(failure.message.contains("'\(folder.database)") && failure.message.contains("SIGHUP"))
        }
    }

    @Test(arguments: [Loss.deleted, .replaced, .cut, .walCut])
    func `the error of a stop says what to do with a lost file before the next start`(_ loss: Loss) throws {
        try loss.apply(to: folder)
        let error = try #require(throws: StoreError.self) { try store.close(nextSequence: 2) }
        #expect(error.code == .inputOutput)
        #expect(error.message.hasPrefix("the database '\(folder.database)' could not be closed cleanly: "))
        #expect(error.message.contains(loss.words) && error.message.contains("before the next start"), "\(error)")
        #expect(!error.message.contains("SIGHUP"), "the daemon ends: \(error)")
    }

    @Test(arguments: ["", "-wal"])
    func `commits resume once a moved file is back at its path`(suffix: String) async throws {
        let path = folder.database + suffix
        let progress = DurableProgress(cursor: 1, seenThrough: 1)
        for round in 0..<3 as Range<UInt64> {
            try moveFile(path, to: folder.file("elsewhere"))
            let two = DurableRecord(id: 2, uid: 7, name: "two", filter)
            let three = DurableRecord(id: 3, uid: 7, name: "one", filter)
            let first = round * 10_000 + 2
            // The batches close segments, and create and remove subscriptions.
            let messages = (0..<3).map { StoredMessage(first + $0 * 4096, "name.\(round).\($0)") }
            let changes: [[DurableChange]] = [
                [.create(two), .remove(id: 2)], [.update(id: 1, progress), .remove(id: 1), .create(three)],
                [.create(two)],
            ]
            // The first of these commits still writes to the moved file, and then fails.
            for index in 0..<3 {
                #expect(await store.commit(messages, changes: changes[(Int(round) + index) % 3]).failure != nil)
            }
            try moveFile(folder.file("elsewhere"), to: path)
            let outcome = await store.commit([StoredMessage(first + 9000, "later.\(round)")])
            #expect(outcome.failure == nil)
            #expect(outcome.statistics.logMessages == round + 2)
        }
        #expect(try await store.everything(filter).map(\.sequence) == [1, 9002, 19_002, 29_002])
        try store.close(nextSequence: 30_000)

        let again = try Store.open(path: folder.database)
        #expect(again.recovered.subscriptions == [record])
        let messages = try await again.everything(filter)
        #expect(messages.map(\.sequence) == [1, 9002, 19_002, 29_002])
        #expect(again.recovered.usage == messages.usage)
        #expect(try await again.everything(SubscriptionFilter("later.*"), subscription: 2).count == 3)
        try again.close(nextSequence: 30_000)
        #expect(try folder.rows("PRAGMA integrity_check") == ["ok"])
    }

    @Test func `a loss in a refused batch is counted once`() async throws {
        let earlier = NotifyLog.Loss(first: 1, last: 4, count: 3, isUpperBound: false)
        let passed = NotifyLog.Loss(first: 1, last: 2, count: 2, isUpperBound: false)
        let loss = NotifyLog.Loss(first: 6, last: 9, count: 4, isUpperBound: false)
        await store.commit([], changes: [.addLoss(id: 1, earlier)])
        let changes: [DurableChange] = [.forgetLoss(id: 1, passed), .addLoss(id: 1, loss)]
        try moveFile(folder.database, to: folder.file("elsewhere"))
        #expect(await store.commit([], changes: changes).failure != nil)
        try moveFile(folder.file("elsewhere"), to: folder.database)
        // The broker sends the changes again.
        #expect(await store.commit([], changes: changes).failure == nil)
        try store.close(nextSequence: 2)
        let again = try Store.open(path: folder.database)
        #expect(again.recovered.subscriptions.map { $0.loss?.count } == [5])
        try again.close(nextSequence: 2)
    }

    @Test func `files that are moved back after a stop have the committed messages`() async throws {
        try moveFile(folder.database, to: folder.file("elsewhere"))
        try moveFile(folder.database + "-wal", to: folder.file("elsewhere-wal"))
        _ = try folder.write("theirs", to: "log.db-wal")
        #expect(await store.commit([StoredMessage(2)]).failure != nil)
        let error = try #require(throws: StoreError.self) { try store.close(nextSequence: 3) }
        #expect(
            error.message
                == "the database '\(folder.database)' could not be closed cleanly: it was deleted or moved away: move it "
                + "back before the next start, which otherwise begins with an empty log")
        #expect(try String(contentsOfFile: folder.file("log.db-wal"), encoding: .utf8) == "theirs")

        try moveFile(folder.file("elsewhere"), to: folder.database)
        try moveFile(folder.file("elsewhere-wal"), to: folder.database + "-wal")
        let again = try Store.open(path: folder.database)
        #expect(!again.recovered.wasClosedCleanly)
        #expect(try await again.everything(filter).map(\.sequence) == [1])
        try again.close(nextSequence: 5000)
    }

    @Test(arguments: [Loss.walDeleted, .walReplaced])
    func `a stop without the write-ahead log keeps all committed messages`(_ loss: Loss) async throws {
        try loss.apply(to: folder)
        #expect(await store.commit([StoredMessage(2)]).failure != nil)
        try store.close(nextSequence: 3)
        if loss == .walReplaced {
            #expect(try String(contentsOfFile: folder.database + "-wal", encoding: .utf8) == "theirs")
            #expect(unlink(folder.database + "-wal") == 0)
        }
        let again = try Store.open(path: folder.database)
        #expect(again.recovered.wasClosedCleanly)
        #expect(again.recovered.nextSequence == 3)
        #expect(try await again.everything(filter).map(\.sequence) == [1])
        try again.close(nextSequence: 3)
    }

    // MARK: Repair

    @Test func `files in place need no repair`() async throws {
        #expect(await repair(continuation([])) == .notNeeded)
        try store.close(nextSequence: 2)
    }

    @Test(arguments: [true, false]) func `a deleted database is replaced`(isWALDeleted: Bool) async throws {
        #expect(unlink(folder.database) == 0)
        if isWALDeleted { #expect(unlink(folder.database + "-wal") == 0) }
        store.sequencesUsed(below: 60)
        #expect(await store.commit([StoredMessage(2)]).failure != nil)
        var records = [record, try DurableRecord(id: 8, uid: 9, name: "eight", SubscriptionFilter("a.*", object: "o"))]
        records[1].startedAfter = 30
        records[0].progress = DurableProgress(cursor: 40, seenThrough: 50, isAttached: true)
        guard case .replaced(let message, let losses) = await repair(continuation(records)) else {
            Issue.record("the log was not replaced")
            return
        }
        #expect(losses.isEmpty, "everything was acknowledged")
        #expect(message.contains("lost: 1; kept from memory: 0; durable subscriptions that continue: 2"))
        #expect(await repair(continuation([])) == .notNeeded)

        let outcome = await store.commit([StoredMessage(60)], changes: [.update(id: 8, records[1].progress)])
        #expect(outcome.failure == nil)
        #expect(outcome.statistics.logMessages == 1)
        let page = try await store.page(filter, after: 1)
        #expect(page.block.messages.map(\.sequence) == [60] && page.scannedThrough == 60)
        store.sequencesUsed(below: 70)
        #expect(throws: StoreError.self, "the lock is held") { try Store.open(path: folder.database) }

        let crashed = try TemporaryFolder()
        try folder.copyDatabase(to: crashed)
        try store.close(nextSequence: 70)
        for (path, next) in [(folder.database, 70), (crashed.database, 5000)] as [(String, UInt64)] {
            let again = try Store.open(path: path)
            #expect(again.recovered.nextSequence == next)
            #expect(again.recovered.nextSubscriptionID == 9)
            #expect(again.recovered.subscriptions == records)
            #expect(again.recovered.usage == [StoredMessage(60)].usage)
            #expect(try await again.everything(filter).map(\.sequence) == [60])
            try again.close(nextSequence: next)
        }
        #expect(!exists(folder.database + ".new"))
    }

    @Test func `subscriptions get a gap for the unread messages of a deleted database`() async throws {
        let unread = try DurableRecord(id: 8, uid: 9, name: "eight", SubscriptionFilter("a.*"))
        let other = try DurableRecord(id: 9, uid: 9, name: "nine", SubscriptionFilter("other"))
        await store.commit(
            (2...4).map { StoredMessage($0, "a.b") } + [StoredMessage(5, "c")],
            changes: [.create(unread), .create(other)])
        #expect(unlink(folder.database) == 0)
        guard case .replaced(_, let losses) = await repair(continuation([unread, other])) else {
            Issue.record("the log was not replaced")
            return
        }
        #expect(losses == [8: NotifyLog.Loss(first: 1, last: 5, count: 3, isUpperBound: true)])
        try store.close(nextSequence: 6)
        let again = try Store.open(path: folder.database)
        #expect(again.recovered.subscriptions.map(\.loss) == [losses[8], nil])
        try again.close(nextSequence: 6)
    }

    /// The newest messages are in memory. The new log stores them again, so they are not lost.
    @Test func `only the messages of a deleted database that are not in memory are lost`() async throws {
        let unread = try DurableRecord(id: 8, uid: 9, name: "eight", SubscriptionFilter("a.*"))
        let late = try DurableRecord(id: 9, uid: 9, name: "nine", SubscriptionFilter("a.*"), cursor: 3)
        let stored = (2...6).map { StoredMessage($0, $0 == 5 ? "c" : "a.b") }
        await store.commit(stored, changes: [.create(unread), .create(late)])
        var block = LogBlock()
        for message in stored.suffix(3) { message.append(to: &block) }
        #expect(unlink(folder.database) == 0)
        var continuation = continuation([unread, late])
        continuation.messages = [block]
        guard case .replaced(let message, let losses) = await repair(continuation) else {
            Issue.record("the log was not replaced")
            return
        }
        #expect(losses == [8: NotifyLog.Loss(first: 1, last: 3, count: 2, isUpperBound: true)])
        #expect(message.contains("stored messages lost: 3; kept from memory: 3;"))
        #expect(try await store.everything(SubscriptionFilter(">")).map(\.sequence) == [4, 5, 6])
        #expect(await store.commit([StoredMessage(7, "a.b")]).failure == nil)
        try store.close(nextSequence: 8)
        let again = try Store.open(path: folder.database)
        #expect(again.recovered.subscriptions.map(\.loss) == [losses[8], nil])
        #expect(try await again.everything(SubscriptionFilter(">")).map(\.sequence) == [4, 5, 6, 7])
        try again.close(nextSequence: 8)
        #expect(try FileCheck.run(path: folder.database).findings.isSound)
    }

    /// The broker knows the copies of messages, and reads them when they are due.
    @Test(arguments: [true, false])
    func `the new database has the copies for a subscription, unless its cursor was reset`(isReset: Bool) async throws {
        var record = try DurableRecord(id: 8, uid: 9, name: "eight", SubscriptionFilter("a.*"), cursor: 4)
        let copies = (2...4).map { sequence in
            DurableChange.keep(
                id: 8, Redelivery(sequence: sequence, failures: 1, delayMicroseconds: 3_600_000_000, bytes: 0),
                reason: "why")
        }
        await store.commit((2...4).map { StoredMessage($0, "a.b") }, changes: [.create(record)])
        await store.commit([], changes: copies)
        try moveFile(folder.database, to: folder.file("elsewhere"))
        if isReset { record.progress = DurableProgress(cursor: 2, seenThrough: 4, generation: 1) }
        guard case .replaced(let message, _) = await repair(continuation([record])) else {
            Issue.record("the log was not replaced")
            return
        }
        #expect(message.contains("copies kept of messages that are delivered again: 3") == !isReset)
        let content = try await store.copies([2, 3, 4], of: 8)
        #expect(content.block.messages == (isReset ? [] : (2...4).map { StoredMessage($0, "a.b") }))
        await store.commit([], changes: [.forget(id: 8, sequences: [3])])
        try store.close(nextSequence: 5)
        let again = try Store.open(path: folder.database)
        let rows = again.recovered.redeliveries[8] ?? []
        #expect(rows.map(\.sequence) == (isReset ? [] : [2, 4]))
        #expect(rows.allSatisfy { $0.failures == 1 && (1...3_600_000_000).contains($0.delayMicroseconds) })
        try again.close(nextSequence: 5)
        #expect(try FileCheck.run(path: folder.database).findings.isSound)
    }

    @Test func `a database that was moved away has all committed messages after the repair`() async throws {
        let elsewhere = try TemporaryFolder()
        try moveFile(folder.database, to: elsewhere.database)
        #expect(await store.commit([StoredMessage(2)]).failure != nil)
        guard case .replaced = await repair(continuation([record])) else {
            Issue.record("the log was not replaced")
            return
        }
        #expect(await store.commit([StoredMessage(3)]).failure == nil)
        try store.close(nextSequence: 4)
        let moved = try Store.open(path: elsewhere.database)
        #expect(moved.recovered.subscriptions == [record])
        #expect(try await moved.everything(filter).map(\.sequence) == [1])
        try moved.close(nextSequence: 5000)
    }

    @Test func `a deleted write-ahead log is created again`() async throws {
        store.sequencesUsed(below: 60)
        #expect(unlink(folder.database + "-wal") == 0)
        #expect(await store.commit([StoredMessage(2)]).failure != nil)
        guard case .reopened = await repair(continuation([])) else {
            Issue.record("the log was not reopened")
            return
        }
        #expect(await store.commit([StoredMessage(3)]).failure == nil)
        let crashed = try TemporaryFolder()
        try folder.copyDatabase(to: crashed)
        try store.close(nextSequence: 60)
        for folder in [folder, crashed] {
            let again = try Store.open(path: folder.database)
            #expect(again.recovered.subscriptions == [record])
            #expect(try await again.everything(filter).map(\.sequence) == [1, 3])
            try again.close(nextSequence: 5000)
        }
    }

    @Test(arguments: [Loss.replaced, .cut, .walReplaced, .walCut])
    func `a replaced or truncated file is left as it is`(_ loss: Loss) async throws {
        try loss.apply(to: folder)
        for _ in 0..<2 {
            guard case .failed(let message) = await repair(continuation([record])) else {
                Issue.record("a replaced or truncated file was repaired")
                return
            }
            #expect(message.contains(loss.words))
        }
        #expect(await store.commit([StoredMessage(2)]).failure != nil)
        if loss == .replaced { #expect(try String(contentsOfFile: folder.database, encoding: .utf8) == "theirs") }
    }

    @Test func `a truncated database is replaced by a new one once it is removed`() async throws {
        try Loss.cut.apply(to: folder)
        #expect(await store.commit([StoredMessage(2)]).failure != nil)
        try moveFile(folder.database, to: folder.file("elsewhere"))
        guard case .failed(let message) = await repair(continuation([record])) else {
            Issue.record("the write-ahead log was removed")
            return
        }
        #expect(message.contains("'\(folder.database)-wal' belongs to a database that was moved away"))
        try moveFile(folder.database + "-wal", to: folder.file("elsewhere-wal"))
        guard case .replaced = await repair(continuation([record])) else {
            Issue.record("the log was not replaced")
            return
        }
        #expect(await store.commit([StoredMessage(3)]).failure == nil)
        try store.close(nextSequence: 4)
    }

    @Test func `a repair that fails on a full disk can be repeated`() async throws {
        try store.close(nextSequence: 2)
        FaultyDisk.watch(folder.path)
        let store = try Store.open(path: folder.database)
        for suffix in ["", "-wal"] { #expect(unlink(folder.database + suffix) == 0) }
        FaultyDisk.set(.full, in: folder.path, after: 3)
        guard case .failed = await store.repaired(continuation([record])) else {
            Issue.record("a log was created on a full disk")
            return
        }
        #expect(!exists(folder.database) && !exists(folder.database + ".new"))
        #expect(await store.commit([StoredMessage(2)]).failure != nil)
        FaultyDisk.set(nil, in: folder.path)
        guard case .replaced = await store.repaired(continuation([record])) else {
            Issue.record("the log was not replaced")
            return
        }
        #expect(await store.commit([StoredMessage(3)]).failure == nil)
        try store.close(nextSequence: 4)
    }

    private func repair(_ continuation: LogContinuation) async -> LogRepair { await store.repaired(continuation) }
}

extension Store {
    fileprivate func repaired(_ continuation: LogContinuation) async -> LogRepair {
        await completion { repair(with: continuation, completion: $0) }
    }
}

func moveFile(_ path: String, to other: String) throws {
    try #require(rename(path, other) == 0)
}
