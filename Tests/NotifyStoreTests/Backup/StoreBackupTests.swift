import Foundation
import NIOCore
import NotifyCenter
import NotifyLog
import NotifyStore
import NotifyWire
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(25)))
struct StoreBackupTests {
    private let folder: TemporaryFolder
    private let filter = SubscriptionFilter(patterns: [">"])

    init() throws {
        folder = try TemporaryFolder()
        FaultyDisk.watch(folder.path)
    }

    private var leftovers: [String] {
        get throws {
            try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.contains(".backup") }
        }
    }

    @Test func `a backup made between commits has every earlier message, and needs no other file`() async throws {
        let log = try Store.open(path: folder.database)
        await log.store(1...2000)
        async let backup: Void = log.backUp(to: folder.file("copy"))
        for first in stride(from: UInt64(2001), to: 4001, by: 100) { await log.store(first...first + 99) }
        try await backup
        #expect(try leftovers == [])

        let other = try TemporaryFolder()
        let restored = try Store.restore(BackupSource(path: folder.file("copy")), to: other.database)
        #expect(restored.keptPath == nil && restored.messages >= 2000)
        let copy = try Store.open(path: other.database)
        #expect(copy.recovered.wasClosedCleanly)
        let messages = try await copy.everything(filter)
        #expect(messages.map(\.sequence) == Array(1...restored.messages))
        #expect(messages.allSatisfy { $0 == .backedUp($0.sequence) })
        try copy.close(nextSequence: restored.nextSequence)
        try log.close(nextSequence: 4001)
    }

    @Test func `a backup has the subscriptions and their progress`() async throws {
        let log = try Store.open(path: folder.database)
        var record = DurableRecord(id: 3, name: "reader", filter)
        await log.commit((1...9).map { .backedUp($0) }, changes: [.create(record)], reserveBelow: 1 << 24)
        record.progress.cursor = 4
        record.progress.seenThrough = 6
        await log.commit([], changes: [.update(id: 3, record.progress)])
        try await log.backUp(to: folder.file("copy"))
        try log.close(nextSequence: 10)
        let other = try TemporaryFolder()
        let restored = try Store.restore(BackupSource(path: folder.file("copy")), to: other.database)
        #expect(restored.subscriptions == 1)
        let copy = try Store.open(path: other.database)
        #expect(copy.recovered.subscriptions == [record])
        try copy.close(nextSequence: restored.nextSequence)
    }

    @Test func `a backup made while messages are deleted and the file shrinks is sound`() async throws {
        var options = StoreOptions()
        options.segmentMessages = 100
        let log = try Store.open(path: folder.database, options: options)
        await log.store(1...3000)
        async let backup: Void = log.backUp(to: folder.file("copy"))
        var rule = RetentionRule(patterns: [">"])
        rule.maximumMessages = 200
        options.retention = RetentionPolicy(rules: [rule])
        log.setRetention(options.retention)
        log.maintain()
        for first in stride(from: UInt64(3001), to: 4001, by: 100) { await log.store(first...first + 99) }
        try await backup
        while log.isMaintaining() {}
        try log.close(nextSequence: 4001)
        let restored = try Store.restore(BackupSource(path: folder.file("copy")), to: folder.database)
        #expect(restored.messages > 0)
        let copy = try Store.open(path: folder.database)
        let messages = try await copy.everything(filter)
        #expect(UInt64(messages.count) == restored.messages)
        #expect(messages.allSatisfy { $0 == .backedUp($0.sequence) })
        try copy.close(nextSequence: restored.nextSequence)
    }

    @Test func `a backup does not contain commits that fail while it is made`() async throws {
        let log = try Store.open(path: folder.database)
        await log.store(1...3000)
        let backup = Task { try await log.backUp(to: folder.file("copy")) }
        FaultyDisk.set(.write, in: folder.path, after: 20, count: 40)
        var stored = Set<UInt64>(1...3000)
        for sequence in 3001...3100 as ClosedRange<UInt64> {
            if await log.commit([.backedUp(sequence)]).failure == nil { stored.insert(sequence) }
        }
        FaultyDisk.set(nil, in: folder.path)
        // The fault may have made the copy fail.
        if case .failure = await backup.result { try await log.backUp(to: folder.file("copy")) }
        try log.close(nextSequence: 4000)
        let restored = try Store.restore(BackupSource(path: folder.file("copy")), to: folder.database)
        let copy = try Store.open(path: folder.database)
        let found = Set(try await copy.everything(filter).map(\.sequence))
        #expect(found.isSuperset(of: 1...3000) && found.isSubset(of: stored))
        try copy.close(nextSequence: restored.nextSequence)
    }

    @Test(arguments: [0, 1, 5, 100, 400])
    func `a backup on a disk that becomes full fails and leaves no file`(operations: Int) async throws {
        let log = try Store.open(path: folder.database)
        await log.store(1...2000)
        FaultyDisk.set(.full, in: folder.path, after: operations)
        let result = await completion { log.beginBackup(target: .none, completion: $0) }
        #expect(throws: WireError.self) { try result.get() }
        if case .failure(let error) = result { #expect(error.code == .logFull, "\(error)") }
        #expect(try leftovers == [])
        FaultyDisk.set(nil, in: folder.path)
        await log.store(2001...2001)
        #expect(try await log.everything(filter).count == 2001)
        try await log.backUp(to: folder.file("copy"))
        try log.close(nextSequence: 2002)
    }

    @Test func `an ended backup leaves no file, and a start removes the files of a killed backup`() async throws {
        var log = try Store.open(path: folder.database)
        await log.store(1...3000)
        let result = await completion { done in
            log.beginBackup(target: .none, completion: done)
            log.endBackup()
        }
        #expect(throws: WireError.self) { try result.get() }
        #expect(try leftovers == [])
        try log.close(nextSequence: 3001)
        for suffix in [".backup", ".backup-wal", ".restore", ".restore-wal"] {
            _ = try folder.write("half", to: "log.db" + suffix)
        }
        let before = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        #expect(before.count { $0.hasPrefix("log.db.backup") || $0.hasPrefix("log.db.restore") } == 4)
        log = try Store.open(path: folder.database)
        let after = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        #expect(after.count { $0.hasPrefix("log.db.backup") || $0.hasPrefix("log.db.restore") } == 0)
        try log.close(nextSequence: 3001)
    }

    @Test func `a chunk of a backup that has ended is refused`() async throws {
        let log = try Store.open(path: folder.database)
        await log.store(1...10)
        let size = try await completion { log.beginBackup(target: .none, completion: $0) }.get()
        let chunk = await completion { log.readBackup(from: size - 10, maximumBytes: 4096, completion: $0) }
        #expect(try chunk.get().readableBytes == 10)
        log.endBackup()
        let late = await completion { log.readBackup(from: 0, maximumBytes: 4096, completion: $0) }
        #expect(throws: WireError.self) { try late.get() }
        try log.close(nextSequence: 11)
    }

    @Test(arguments: ["", "-wal", "-shm", "-journal", ".lock", ".backup"])
    func `a backup onto a file of the log is refused`(suffix: String) async throws {
        let log = try Store.open(path: folder.database)
        var status = stat()
        #expect(stat(folder.path, &status) == 0)
        let name = folder.database.split(separator: "/").last.map { $0 + suffix } ?? ""
        let target = FileLocation(device: UInt64(status.st_dev), inode: UInt64(status.st_ino), name: String(name))
        let refused = await completion { log.beginBackup(target: target, completion: $0) }
        #expect(throws: WireError.self) { try refused.get() }
        if case .failure(let error) = refused {
            #expect(error.code == .invalidArgument)
            #expect(error.message.hasPrefix("'\(folder.database)\(suffix)' is the daemon's own file"))
        }
        // A file with the same name in another folder may be the target.
        let elsewhere = FileLocation(device: target.device, inode: target.inode + 1, name: target.name)
        _ = try await completion { log.beginBackup(target: elsewhere, completion: $0) }.get()
        try log.close(nextSequence: 1)
    }

    @Test func `a backup onto the sequence mark in shared memory is refused`() async throws {
        let log = try Store.open(path: folder.database)
        var (database, memory) = (stat(), stat())
        #expect(stat(folder.database, &database) == 0 && stat("/dev/shm", &memory) == 0)
        let suffix = "-\(database.st_dev)-\(database.st_ino)"
        let marks = try FileManager.default.contentsOfDirectory(atPath: "/dev/shm").filter { $0.hasSuffix(suffix) }
        let name = try #require(marks.first)
        let target = FileLocation(device: UInt64(memory.st_dev), inode: UInt64(memory.st_ino), name: name)
        let refused = await completion { log.beginBackup(target: target, completion: $0) }
        #expect(throws: WireError.self) { try refused.get() }
        if case .failure(let error) = refused { #expect(error.code == .invalidArgument, "\(error.message)") }
        try log.close(nextSequence: 1)
    }

    @Test func `a backup without room on the disk is refused`() async throws {
        var options = StoreOptions()
        options.retention.minimumFreeBytes = 1 << 60
        let log = try Store.open(path: folder.database, options: options)
        let full = await completion { log.beginBackup(target: .none, completion: $0) }
        #expect(throws: WireError.self) { try full.get() }
        if case .failure(let error) = full {
            #expect(error.code == .logFull && error.message.contains("log.min_free_bytes"))
        }
        #expect(try leftovers == [])
        try log.close(nextSequence: 1)
    }

    @Test func `a damaged log is not backed up`() async throws {
        var log = try Store.open(path: folder.database)
        await log.store(1...10)
        try log.close(nextSequence: 11)
        try folder.execute("UPDATE state SET next_sequence = 3")
        log = try Store.open(path: folder.database)
        let damaged = await completion { log.beginBackup(target: .none, completion: $0) }
        #expect(throws: WireError.self) { try damaged.get() }
        if case .failure(let error) = damaged { #expect(error.code == .logDamaged) }
        try log.close(nextSequence: 11)
    }
}
