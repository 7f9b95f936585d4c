import Foundation
import Glibc
import SystemPackage
import TestSupport
import Testing

@testable import NotifyStore

struct SequenceMarkTests {
    let folder: TemporaryFolder
    let logID = (0..<16).map { _ in UInt8.random(in: .min ... .max) }

    init() throws {
        folder = try TemporaryFolder()
        #expect(FileManager.default.createFile(atPath: folder.database, contents: nil))
    }

    @Test
    func `a new mark is zero, and a reopened one keeps its value`() throws {
        do {
            let mark = try SequenceMark(logID: logID, databasePath: folder.database)
            let value = mark.value
            #expect(value == 0)
            mark.set(1 << 52)
        }
        let again = try SequenceMark(logID: logID, databasePath: folder.database)
        let value = again.value
        #expect(value == 1 << 52)
        again.remove()
        let removed = try SequenceMark(logID: logID, databasePath: folder.database)
        let fresh = removed.value
        #expect(fresh == 0)
        removed.remove()
    }

    @Test
    func `another log and a copied database have their own marks`() throws {
        let mark = try SequenceMark(logID: logID, databasePath: folder.database)
        mark.set(7)
        let other = try SequenceMark(logID: logID.map { ~$0 }, databasePath: folder.database)
        try FileManager.default.copyItem(atPath: folder.database, toPath: folder.file("copy.db"))
        let copy = try SequenceMark(logID: logID, databasePath: folder.file("copy.db"))
        let values = [mark.value, other.value, copy.value]
        #expect(values == [7, 0, 0])
        mark.remove()
        other.remove()
        copy.remove()
    }

    @Test
    func `the mark of a missing database is identified by the path`() throws {
        let (one, other) = try (
            SequenceMark(ofMissing: folder.file("one.db")), SequenceMark(ofMissing: folder.file("other.db"))
        )
        one.set(7)
        let again = try SequenceMark(ofMissing: folder.file("one.db"))
        let values = [again.value, other.value]
        #expect(values == [7, 0])
        one.remove()
        other.remove()
    }

    @Test
    func `shared memory that other users may write to is refused`() throws {
        let name: String
        do {
            let mark = try SequenceMark(logID: logID, databasePath: folder.database)
            name = mark.name
        }
        defer { shm_unlink(name) }
        #expect(chmod("/dev/shm" + name, 0o666) == 0)
        #expect(throws: Errno.notPermitted) {
            _ = try SequenceMark(logID: logID, databasePath: folder.database)
        }
    }
}
