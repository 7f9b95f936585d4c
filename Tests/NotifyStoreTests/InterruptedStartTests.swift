import Foundation
import NotifyLog
import NotifyStore
import NotifyWire
import TestSupport
import Testing

/// Interrupts a start at each of its file operations. The next start must complete the work.
@Suite(.timeLimit(.minutes(25)))
struct InterruptedStartTests {
    enum Interruption: CaseIterable, Sendable {
        case death
        case powerLoss
        case fullDisk
        case fullDiskForOneOperation
    }

    /// For each file operation of `Store.open`, opens a log in a new folder and interrupts the start at that operation.
    ///
    /// - Returns: The number of operations.
    private func interruptEach(
        _ interruption: Interruption, prepare: (TemporaryFolder) throws -> Void,
        then check: (TemporaryFolder, Int) async throws -> Void
    ) async throws -> Int {
        let seed = UInt64.random(in: 0 ... .max)
        if interruption == .powerLoss { print("interrupted starts: seed \(seed)") }
        var generator = SeededGenerator(seed: seed)
        for operation in 0... {
            let folder = try TemporaryFolder()
            FaultyDisk.watch(folder.path)
            try prepare(folder)
            if interruption == .powerLoss { FaultyDisk.keepUnflushedChanges(in: folder.path) }
            switch interruption {
            case .death, .powerLoss: FaultyDisk.set(.death, in: folder.path, after: operation)
            case .fullDisk: FaultyDisk.set(.full, in: folder.path, after: operation)
            case .fullDiskForOneOperation: FaultyDisk.set(.full, in: folder.path, after: operation, count: 1)
            }
            _ = try? Store.open(path: folder.database)
            let isReached = FaultyDisk.operations(in: folder.path) > operation
            if interruption == .powerLoss { try FaultyDisk.losePower(in: folder.path, using: &generator) }
            FaultyDisk.set(nil, in: folder.path)
            guard isReached else { return operation }
            try await check(folder, operation)
        }
        return 0
    }

    @Test(arguments: Interruption.allCases)
    func `the next start completes an interrupted first start`(_ interruption: Interruption) async throws {
        let operations = try await interruptEach(interruption) { _ in
        } then: { folder, operation in
            var store = try Store.open(path: folder.database)
            #expect(store.recovered.nextSequence == 1, "operation \(operation)")
            #expect(store.recovered.subscriptions.isEmpty)
            #expect(await store.commit([StoredMessage(1)], reserveBelow: 100).failure == nil)
            try store.close(nextSequence: 2)
            store = try Store.open(path: folder.database)
            #expect(try await store.everything(SubscriptionFilter(">")) == [StoredMessage(1)])
            try store.close(nextSequence: 2)
        }
        #expect(operations > 10)
    }

    /// After a power loss, the database may have its full size but no contents. The journal is complete, because SQLite
    /// flushes the journal before it writes the database.
    @Test func `the next start completes a first start that lost power`() async throws {
        var losses = 0
        _ = try await interruptEach(.death) { _ in
        } then: { folder, _ in
            let size = try Data(contentsOf: URL(fileURLWithPath: folder.database)).count
            guard size > 0, exists(folder.database + "-journal"), try isOfFirstWrite(folder.database + "-journal")
            else {
                return
            }
            try Data(count: size).write(to: URL(fileURLWithPath: folder.database))
            losses += 1
            try Store.open(path: folder.database).close(nextSequence: 1)
        }
        #expect(losses > 0)
    }

    /// Whether a journal is in use and belongs to a database that was empty before. The header of a journal in use
    /// begins with D9, and has the earlier number of pages, big-endian, at offset 16. A database that already has pages
    /// was flushed, so a power loss can't empty it.
    private func isOfFirstWrite(_ journal: String) throws -> Bool {
        let header = try Array(Data(contentsOf: URL(fileURLWithPath: journal)).prefix(20))
        return header.count == 20 && header[0] == 0xD9 && header[16...].allSatisfy { $0 == 0 }
    }

    /// Every interruption of the migration from the oldest schema, which runs all steps. For each other schema, a power
    /// loss.
    private static var migrations: [(OldSchema, Interruption)] {
        OldSchema.allCases.flatMap { schema in
            (schema == OldSchema.allCases.first ? Interruption.allCases : [.powerLoss]).map { (schema, $0) }
        }
    }

    @Test(arguments: migrations)
    func `the next start completes a migration`(_ schema: OldSchema, _ interruption: Interruption) async throws {
        let operations = try await interruptEach(interruption) { folder in
            try folder.execute(schema.sql)
        } then: { folder, operation in
            let store = try Store.open(path: folder.database)
            #expect(store.recovered.nextSequence == 9000, "operation \(operation)")
            #expect(store.recovered.subscriptions.map(\.name) == ["plain", "busy", "busy"])
            #expect(try await store.everything(SubscriptionFilter(">")).map(\.sequence) == [1, 4096, 8193])
            #expect(await store.commit([StoredMessage(9000)], reserveBelow: 1 << 25).failure == nil)
            try store.close(nextSequence: 9001)
            #expect(try folder.rows("PRAGMA integrity_check") == ["ok"])
        }
        #expect(operations > 5)
    }

    /// SQLite rewrites the database in a transaction, so a failure leaves the migrated log as it was.
    @Test func `a log that can't be rewritten works, and reports the problem`() async throws {
        let schema = try #require(OldSchema.allCases.first)
        var problems = 0
        for operation in 0..<200 {
            let folder = try TemporaryFolder()
            FaultyDisk.watch(folder.path)
            try folder.execute(schema.sql)
            FaultyDisk.set(.full, in: folder.path, after: operation, count: 1)
            guard let store = try? Store.open(path: folder.database) else { continue }
            let isReached = FaultyDisk.operations(in: folder.path) > operation
            FaultyDisk.set(nil, in: folder.path)
            if let problem = store.recovered.problem {
                problems += 1
                #expect(problem.hasPrefix("until a start has rewritten the database '\(folder.database)'"))
                #expect(problem.contains("; rewriting failed: "))
                #expect(try await store.everything(SubscriptionFilter(">")).map(\.sequence) == [1, 4096, 8193])
                try store.close(nextSequence: 9000)
                let again = try Store.open(path: folder.database)
                #expect(again.recovered.problem == nil)
                try again.close(nextSequence: 9000)
                #expect(try folder.rows("PRAGMA auto_vacuum") == ["2"])
            } else {
                try store.close(nextSequence: 9000)
            }
            guard isReached else { break }
        }
        #expect(problems > 0)
    }
}
