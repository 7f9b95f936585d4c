import Glibc
import NotifyLog
import NotifySystem
import SystemPackage

/// The database and its write-ahead log, as they were when SQLite opened them: finds out whether the paths still lead to
/// them, and whether they hold what was written.
///
/// Files are looked at by path alone. Opening the database here would end SQLite's locks on it when it is closed.
struct LogFiles {
    enum File: Equatable {
        case database
        case writeAheadLog
    }

    /// What is wrong with a file.
    struct Damage: Error, Equatable {
        enum Kind: Equatable {
            /// Nothing is at the path.
            case missing
            /// Another file is at the path.
            case replaced
            /// The file was cut. That lasts: what is written to it now can't make it whole.
            case cut(from: UInt64, to: UInt64)
            /// The path can't be looked at.
            case unreachable(Errno)
        }

        var file: File
        var path: String
        var kind: Kind
    }

    private struct Identity: Equatable {
        let device: dev_t
        let inode: ino_t
    }

    /// The sizes of both files.
    struct Sizes {
        var database: UInt64 = 0
        var wal: UInt64 = 0
    }

    let path: String
    private let database: Identity
    private let wal: Identity
    private let pageSize: UInt64
    /// The database never shrinks.
    private var leastDatabaseBytes: UInt64
    private var cut: Damage?

    var walPath: String { path + "-wal" }

    /// Notes the files at the path, both of which exist while SQLite has a log open.
    init(path: String, pageSize: UInt64) throws(Errno) {
        self.path = path
        self.pageSize = pageSize
        let status = try Self.status(path)
        database = Self.identity(status)
        leastDatabaseBytes = UInt64(status.st_size)
        wal = Self.identity(try Self.status(path + "-wal"))
    }

    /// Looks at both files.
    ///
    /// - Parameter walPages: How many pages SQLite has written to the write-ahead log.
    mutating func check(walPages: Int32) -> Result<Sizes, Damage> {
        do throws(Damage) {
            let sizes = try Sizes(
                database: Self.size(.database, at: path, is: database),
                wal: Self.size(.writeAheadLog, at: walPath, is: wal))
            if let cut { throw cut }
            if sizes.database < leastDatabaseBytes {
                throw noteCut(.database, path, from: leastDatabaseBytes, to: sizes.database)
            }
            leastDatabaseBytes = sizes.database
            try checkWAL(size: sizes.wal, pages: walPages)
            return .success(sizes)
        } catch {
            return .failure(error)
        }
    }

    /// Checks the size of the write-ahead log: also before a commit, which would fill what was cut with a hole.
    mutating func checkWAL(size: UInt64, pages: Int32) throws(Damage) {
        let least = pages == 0 ? 0 : 32 + UInt64(pages) * (24 + pageSize)
        if size < least { throw noteCut(.writeAheadLog, walPath, from: least, to: size) }
    }

    private mutating func noteCut(_ file: File, _ path: String, from: UInt64, to: UInt64) -> Damage {
        let damage = Damage(file: file, path: path, kind: .cut(from: from, to: to))
        cut = damage
        return damage
    }

    /// Whether the write-ahead log is at its path, also where the database is not.
    var isWALInPlace: Bool { (try? Self.size(.writeAheadLog, at: walPath, is: wal)) != nil }

    /// Whether something was cut, also where it is no longer at its path.
    var isCut: Bool { cut != nil }

    private static func size(_ file: File, at path: String, is expected: Identity) throws(Damage) -> UInt64 {
        let status: stat
        do throws(Errno) {
            status = try Self.status(path)
        } catch {
            throw Damage(
                file: file, path: path, kind: error == .noSuchFileOrDirectory ? .missing : .unreachable(error))
        }
        guard identity(status) == expected else { throw Damage(file: file, path: path, kind: .replaced) }
        return UInt64(status.st_size)
    }

    private static func status(_ path: String) throws(Errno) -> stat {
        var status = stat()
        try Errno.check(lstat(path, &status))
        return status
    }

    private static func identity(_ status: stat) -> Identity { Identity(device: status.st_dev, inode: status.st_ino) }
}

extension LogFiles.Damage: CustomStringConvertible {
    /// One line without a final period, with what to do.
    var description: String {
        let name = file == .database ? "the database '\(path)'" : "the write-ahead log '\(path)' of the database"
        let renewal =
            file == .database
            ? "reload notifyd (SIGHUP) for a new, empty log"
            : "reload notifyd (SIGHUP), which makes a new one without a loss"
        return switch kind {
        case .missing: "\(name) was deleted or moved away: move it back, or \(renewal)"
        case .replaced:
            "another file has taken the place of \(name): move it away, then move the right one back or \(renewal)"
        case .cut(let from, let to):
            "\(name) was cut from \(from) to \(to) bytes: stop notifyd and restore a copy, or move the database and its "
                + "write-ahead log away and reload notifyd (SIGHUP) for a new, empty log"
        case .unreachable(let error):
            "\(name) can't be looked at: \(AccessProblem.describe(error, opening: path))"
        }
    }

    var storageFailure: StorageFailure { StorageFailure(kind: .inputOutput, message: description) }
}
