import Foundation
import NotifyCenter
import NotifyLog
import NotifyStore
import NotifySystem
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(25)))
struct StoreRestoreTests {
    private let folder: TemporaryFolder
    private let filter = SubscriptionFilter(patterns: [">"])

    init() throws {
        folder = try TemporaryFolder()
        FaultyDisk.watch(folder.path)
    }

    private var copy: String { folder.file("copy") }

    private func restore(_ file: String) throws -> RestoredLog {
        try Store.restore(BackupSource(path: file), to: folder.database)
    }

    private func error(restoring file: String) -> StoreError? {
        do {
            _ = try restore(file)
            return nil
        } catch {
            return error as? StoreError
        }
    }

    private func contents(of path: String) throws -> Data { try Data(contentsOf: URL(fileURLWithPath: path)) }

    @Test func `a restored log continues above the sequences of the replaced one, in another epoch`() async throws {
        var log = try Store.open(path: folder.database)
        let epoch = log.recovered.epoch
        await log.store(1...10)
        try await log.backUp(to: copy)
        await log.store(11...20)
        log.sequencesUsed(below: 50)
        try log.close(nextSequence: 50)

        let restored = try restore(copy)
        #expect(restored.nextSequence == 50 && restored.unreadable == nil && restored.messages == 10)
        log = try Store.open(path: folder.database)
        #expect(log.recovered.nextSequence == 50)
        #expect(log.recovered.epoch != epoch && log.recovered.epoch != 0)
        #expect(try await log.everything(filter).map(\.sequence) == Array(1...10))
        try log.close(nextSequence: 50)
        #expect(permissions(of: folder.database) == 0o600)

        let kept = try Store.open(path: try #require(restored.keptPath))
        #expect(try await kept.everything(filter).map(\.sequence) == Array(1...20))
        try kept.close(nextSequence: 50)
    }

    /// Only the mark in shared memory contains the sequences used since the last commit.
    @Test func `a restore after a kill continues at the sequence mark of the replaced log`() async throws {
        var log: Store? = try Store.open(path: folder.database)
        await log?.store(1...10)
        try await log?.backUp(to: copy)
        log?.sequencesUsed(below: 700)
        log = nil
        #expect(try restore(copy).nextSequence == 700)
        let again = try Store.open(path: folder.database)
        #expect(again.recovered.nextSequence == 700)
        try again.close(nextSequence: 800)
        // The log that is replaced now was itself restored, so it has another id than the log of the backup. A restore
        // over it also skips the sequences that the log of the backup had reserved.
        #expect(try restore(copy).nextSequence >= 800)
    }

    /// After the backup, the original log may have used any sequence that it had reserved.
    @Test func `without the original log, sequences continue above those that it had reserved`() async throws {
        let log = try Store.open(path: folder.database)
        await log.store(1...10)
        try await log.backUp(to: copy)
        try log.close(nextSequence: 11)
        let other = try TemporaryFolder()
        let restored = try Store.restore(BackupSource(path: copy), to: other.database)
        #expect(restored.nextSequence == 1 << 24 && restored.keptPath == nil)
    }

    @Test(arguments: [true, false])
    func `a backup replaces a damaged log`(isHeaderSound: Bool) async throws {
        let log = try Store.open(path: folder.database)
        await log.store(1...10)
        try await log.backUp(to: copy)
        log.sequencesUsed(below: 5000)
        try log.close(nextSequence: 5000)
        if isHeaderSound {
            try folder.execute("UPDATE names SET name = 'x'")
        } else {
            try Data(repeating: 7, count: 8192).write(to: URL(fileURLWithPath: folder.database))
        }
        let damaged = try contents(of: folder.database)
        let restored = try restore(copy)
        #expect(restored.unreadable != nil && restored.nextSequence >= 1 << 24)
        #expect(try contents(of: try #require(restored.keptPath)) == damaged)
        let again = try Store.open(path: folder.database)
        #expect(again.recovered.failure == nil)
        #expect(try await again.everything(filter).count == 10)
        try again.close(nextSequence: restored.nextSequence)
    }

    @Test func `each replaced database is kept under a name of its own`() async throws {
        let log = try Store.open(path: folder.database)
        await log.store(1...10)
        try await log.backUp(to: copy)
        try log.close(nextSequence: 11)
        let kept = try (1...3).map { _ in try #require(restore(copy).keptPath) }
        #expect(kept == ["", ".2", ".3"].map { folder.database + ".replaced" + $0 })
        #expect(kept.allSatisfy(exists))
    }

    @Test func `a file that is not a sound backup is refused, and leaves the log unchanged`() async throws {
        let log = try Store.open(path: folder.database)
        await log.store(1...100)
        try await log.backUp(to: copy)
        #expect(error(restoring: copy)?.code == .inUse, "the log is open")
        try log.close(nextSequence: 101)
        let before = try contents(of: folder.database)

        #expect(error(restoring: folder.database)?.code == .inUse)
        #expect(error(restoring: folder.file("missing"))?.code == .notAccessible)
        #expect(error(restoring: folder.path)?.code == .notARegularFile)
        let text = try folder.write(String(repeating: "dear reader ", count: 1000), to: "text")
        #expect(error(restoring: text)?.code == .notADatabase)
        #expect(error(restoring: text)?.message == "nothing was restored from '\(text)': it is not a backup of notifyd")
        #expect(error(restoring: try folder.write("", to: "empty"))?.code == .notADatabase)
        _ = try folder.write("more", to: "copy-wal")
        #expect(error(restoring: copy)?.code == .notADatabase)
        let half = folder.file("half")
        let bytes = try contents(of: copy)
        try bytes[..<(bytes.count / 2)].write(to: URL(fileURLWithPath: half))
        #expect(error(restoring: half)?.code == .damaged)

        #expect(try contents(of: folder.database) == before)
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.contains(".restore") } == [])
    }

    @Test func `a backup with flipped bits is refused, or its messages are as posted`() async throws {
        let log = try Store.open(path: folder.database)
        await log.store(1...60)
        try await log.backUp(to: copy)
        try log.close(nextSequence: 61)
        let bytes = try contents(of: copy)
        let seed = UInt64.random(in: 0 ... .max)
        var generator = SeededGenerator(seed: seed)
        var refused = 0
        for round in 0..<100 {
            let other = try TemporaryFolder()
            try bytes.flipping(1, using: &generator).write(to: URL(fileURLWithPath: copy))
            do {
                let restored = try Store.restore(BackupSource(path: copy), to: other.database)
                let again = try Store.open(path: other.database)
                #expect(
                    try await again.everything(filter) == (1...60).map { .backedUp($0) }, "seed \(seed), round \(round)"
                )
                try again.close(nextSequence: restored.nextSequence)
            } catch let error as StoreError {
                #expect(error.message.hasPrefix("nothing was restored from"), "seed \(seed), round \(round)")
                #expect(!exists(other.database), "seed \(seed), round \(round)")
                refused += 1
            }
        }
        #expect(refused > 10, "seed \(seed)")
    }

    @Test(arguments: [FaultyDisk.Fault.full, .write, .flush, .death])
    func `a restore that fails at any write leaves the log as it was`(fault: FaultyDisk.Fault) async throws {
        let log = try Store.open(path: folder.database)
        await log.store(1...10)
        try await log.backUp(to: copy)
        await log.store(11...20)
        try log.close(nextSequence: 21)
        var failures = 0
        for operation in 0..<200 {
            FaultyDisk.set(fault, in: folder.path, after: operation)
            let error = error(restoring: copy)
            FaultyDisk.set(nil, in: folder.path)
            if error == nil { break }
            failures += 1
            #expect(
                try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.contains(".restore") }
                    == [])
            let old = try Store.open(path: folder.database)
            #expect(try await old.everything(filter).count == 20, "operation \(operation)")
            #expect(old.recovered.nextSequence == 21)
            try old.close(nextSequence: 21)
        }
        #expect((1..<200).contains(failures))
        let new = try Store.open(path: folder.database)
        #expect(try await new.everything(filter).count == 10)
        #expect(new.recovered.nextSequence >= 21)
        try new.close(nextSequence: new.recovered.nextSequence)
    }
}
