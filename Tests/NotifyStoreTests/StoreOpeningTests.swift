import Foundation
@_spi(Package) import NotifyCenter
import NotifyLog
import NotifyStore
import NotifySystem
import NotifyWire
import SystemPackage
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(25)))
struct StoreOpeningTests {
    let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    @Test func `a new log is empty and begins at 1`() throws {
        let store = try Store.open(path: folder.database)
        let recovered = store.recovered
        #expect(recovered.nextSequence == 1)
        #expect(recovered.persistedThrough == 0)
        #expect(recovered.nextSubscriptionID == 1)
        #expect(recovered.subscriptions.isEmpty)
        #expect(recovered.wasClosedCleanly)
        try store.close(nextSequence: 1)
    }

    @Test func `all files are private, even if they existed with another mode`() async throws {
        // Existing files that all users may read and write.
        for name in [folder.database, folder.database + ".lock"] {
            #expect(FileManager.default.createFile(atPath: name, contents: nil, attributes: [.posixPermissions: 0o666]))
        }
        let store = try Store.open(path: folder.database)
        await store.commit([StoredMessage(1)])
        let files = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        // A disk with little free space has no reserve.
        #expect(Set(files).union(["log.db.reserve"]) == ["log.db", "log.db-wal", "log.db.lock", "log.db.reserve"])
        for file in files { #expect(permissions(of: folder.file(file)) == 0o600, "\(file)") }
        try store.close(nextSequence: 2)
    }

    @Test func `opening an open log is refused, with the holder's pid`() throws {
        let store = try Store.open(path: folder.database)
        let error = try #require(throws: StoreError.self) { try Store.open(path: folder.database) }
        #expect(error.code == .inUse)
        #expect(error.message.contains(folder.database))
        #expect(error.message.contains("process \(getpid())"))
        try store.close(nextSequence: 1)
        try Store.open(path: folder.database).close(nextSequence: 1)
    }

    @Test func `a released store releases its lock`() throws {
        do { _ = try Store.open(path: folder.database) }
        try Store.open(path: folder.database).close(nextSequence: 1)
    }

    @Test func `a released store first finishes its requests`() async throws {
        do {
            let store = try Store.open(path: folder.database)
            for sequence in 1...50 as ClosedRange<UInt64> {
                store.commit(CommitBatch(id: sequence, blocks: [LogBlock([StoredMessage(sequence)])])) { _ in }
            }
        }
        let again = try Store.open(path: folder.database)
        #expect(again.recovered.persistedThrough == 50)
        #expect(!again.recovered.wasClosedCleanly)
        try again.close(nextSequence: 51)
    }

    @Test func `a store may be released in a completion`() async throws {
        let holder = Lock<Store?>(try Store.open(path: folder.database))
        await withCheckedContinuation { continuation in
            holder.withLock { store in
                store?.commit(CommitBatch(id: 1, blocks: [LogBlock([StoredMessage(1)])])) { _ in
                    holder.withLock { $0 = nil }
                    continuation.resume()
                }
            }
        }
        let again = try Store.open(path: folder.database)
        #expect(again.recovered.persistedThrough == 1)
        try again.close(nextSequence: 2)
    }

    @Test(arguments: [1, 99, 100, 4096, 100_000])
    func `a file of random bytes is refused and not changed`(size: Int) throws {
        var generator = SystemRandomNumberGenerator()
        let noise = Data((0..<size).map { _ in UInt8.random(in: 1...255, using: &generator) })
        try noise.write(to: URL(fileURLWithPath: folder.database))
        let before = try FileManager.default.attributesOfItem(atPath: folder.database)

        let error = try #require(throws: StoreError.self) { try Store.open(path: folder.database) }
        #expect(error.code == .notADatabase)
        #expect(error.message.contains("not a database"))
        #expect(try Data(contentsOf: URL(fileURLWithPath: folder.database)) == noise)
        let after = try FileManager.default.attributesOfItem(atPath: folder.database)
        #expect(before[.modificationDate] as? Date == after[.modificationDate] as? Date)
        #expect(!FileManager.default.fileExists(atPath: folder.database + "-wal"))
    }

    @Test(arguments: [1, 100, 4096]) func `a file of zeros is refused and not changed`(size: Int) throws {
        try Data(count: size).write(to: URL(fileURLWithPath: folder.database))
        let error = try #require(throws: StoreError.self) { try Store.open(path: folder.database) }
        #expect(error.code == .notADatabase)
        #expect(try Data(contentsOf: URL(fileURLWithPath: folder.database)) == Data(count: size))
    }

    @Test func `random bytes after a SQLite header are refused`() throws {
        var generator = SystemRandomNumberGenerator()
        let noise =
            Data("SQLite format 3\0".utf8) + Data((0..<8176).map { _ in UInt8.random(in: 1...255, using: &generator) })
        try noise.write(to: URL(fileURLWithPath: folder.database))
        #expect(throws: StoreError.self) { try Store.open(path: folder.database) }
        #expect(try Data(contentsOf: URL(fileURLWithPath: folder.database)) == noise)
    }

    @Test(arguments: ["CREATE TABLE theirs (a)", "PRAGMA application_id = 7; CREATE TABLE theirs (a)"])
    func `a database of another application is refused and not changed`(sql: String) throws {
        try folder.execute(sql)
        let before = try Data(contentsOf: URL(fileURLWithPath: folder.database))
        let error = try #require(throws: StoreError.self) { try Store.open(path: folder.database) }
        #expect(error.code == .foreignDatabase)
        #expect(try Data(contentsOf: URL(fileURLWithPath: folder.database)) == before)
    }

    @Test func `a newer schema is refused`() throws {
        try Store.open(path: folder.database).close(nextSequence: 1)
        try folder.execute("PRAGMA user_version = 10")
        let error = try #require(throws: StoreError.self) { try Store.open(path: folder.database) }
        #expect(error.code == .otherSchema)
        #expect(error.message.contains("newer notifyd (schema 10, this one supports 9)"))
        let found = try #require(throws: StoreError.self) { try Store.check(path: folder.database) }
        #expect(found.message == error.message)
    }

    @Test(arguments: [0, -1, Int32.min])
    func `an unknown schema version counts as damage`(version: Int32) throws {
        try Store.open(path: folder.database).close(nextSequence: 1)
        try folder.execute("PRAGMA user_version = \(version)")
        let store = try Store.open(path: folder.database)
        #expect(store.recovered.failure?.kind == .damaged)
    }

    @Test func `files that are not regular are refused`() throws {
        let target = folder.file("target.db")
        #expect(FileManager.default.createFile(atPath: target, contents: nil))
        try FileManager.default.createSymbolicLink(atPath: folder.file("link.db"), withDestinationPath: target)
        try FileManager.default.createDirectory(atPath: folder.file("folder.db"), withIntermediateDirectories: false)
        #expect(mkfifo(folder.file("pipe.db"), 0o600) == 0)
        for name in ["link.db", "folder.db", "pipe.db"] {
            let error = try #require(throws: StoreError.self, "\(name)") { try Store.open(path: folder.file(name)) }
            #expect(error.code == .notARegularFile)
        }
        #expect(FileManager.default.contents(atPath: target) == Data())
    }

    @Test func `a lock file that is a symbolic link is refused`() throws {
        try FileManager.default.createSymbolicLink(
            atPath: folder.database + ".lock", withDestinationPath: folder.file("elsewhere"))
        let error = try #require(throws: StoreError.self) { try Store.open(path: folder.database) }
        #expect(error.code == .notARegularFile)
        #expect(!FileManager.default.fileExists(atPath: folder.database))
    }

    @Test func `the error names a missing or unwritable folder`() throws {
        let missing = try #require(throws: StoreError.self) { try Store.open(path: folder.file("none/log.db")) }
        #expect(missing.code == .notAccessible)
        #expect(missing.message.hasSuffix("the directory '\(folder.file("none"))' does not exist; create it"))
        // No user, not even root, can create files in /proc.
        let sealed = try #require(throws: StoreError.self) { try Store.open(path: "/proc/log.db") }
        #expect(sealed.code == .notAccessible)
        #expect(sealed.message.hasSuffix("no file can be created in the directory '/proc'"))
    }

    @Test func `the error names a write-ahead log that can't be opened`() throws {
        try Store.open(path: folder.database).close(nextSequence: 1)
        let log = folder.database + "-wal"
        try FileManager.default.createDirectory(atPath: log, withIntermediateDirectories: false)
        let error = try #require(throws: StoreError.self) { try Store.open(path: folder.database) }
        #expect(error.code == .notAccessible)
        #expect(
            error.message
                == "the write-ahead log '\(log)' of the database can't be opened: \(Errno.isDirectory)")
    }

    @Test func `a database locked by another program is reported as in use`() throws {
        try Store.open(path: folder.database).close(nextSequence: 1)
        let other = Process()
        let input = Pipe()
        let output = Pipe()
        other.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        other.arguments = [
            "python3", "-c",
            """
            import fcntl, sys
            file = open(sys.argv[1], "r+b")
            fcntl.lockf(file, fcntl.LOCK_EX, 510, 0x40000002)
            print("held", flush=True)
            sys.stdin.read()
            """, folder.database,
        ]
        other.standardInput = input
        other.standardOutput = output
        try other.run()
        defer {
            try? input.fileHandleForWriting.close()
            other.waitUntilExit()
        }
        #expect(output.fileHandleForReading.readData(ofLength: 5) == Data("held\n".utf8))
        let error = try #require(throws: StoreError.self) { try Store.open(path: folder.database) }
        #expect(error.code == .inUse)
    }

    @Test func `a path that looks like a URI is used as a path`() throws {
        let name = "file:\(UUID().uuidString)?mode=memory"
        defer { for suffix in ["", ".lock", ".reserve"] { unlink(name + suffix) } }
        try Store.open(path: name).close(nextSequence: 5)
        #expect(FileManager.default.fileExists(atPath: name))
    }
}
