import NotifyLog
import NotifySystem
import SystemPackage

/// The database and its write-ahead log as SQLite opened them. Detects that another file is at one of the paths, or
/// that a file was truncated.
///
/// Checks use only the status of the paths: opening and closing the database here would release SQLite's locks on it.
struct LogFiles {
    enum File: Equatable {
        case database
        case writeAheadLog
    }

    /// Damage of the files, as opposed to damage of their content: one of the files was moved away, replaced or
    /// truncated while it was open.
    struct Damage: Error, Equatable {
        enum Kind: Equatable {
            /// No file is at the path.
            case missing
            /// Another file is at the path.
            case replaced
            /// The file was truncated; the values are its size in bytes before (for the write-ahead log, the least size
            /// that it must have) and after. The damage is permanent: later writes don't restore the lost bytes.
            case truncated(from: UInt64, to: UInt64)
            /// The status of the path can't be read.
            case unreachable(Errno)
        }

        var file: File
        var path: String
        var kind: Kind
    }

    /// The sizes of both files in bytes.
    struct Sizes: Equatable {
        var database: UInt64 = 0
        var wal: UInt64 = 0
    }

    let path: String
    private let database: FileStatus.Identity
    private let wal: FileStatus.Identity
    private let pageSize: UInt64
    /// The size of the database at the last check. A smaller size is damage, unless free pages were removed.
    private var minimumDatabaseBytes: UInt64
    /// The size to which the next checkpoint may shrink the database; nil if no free pages were removed.
    private var shrunkDatabaseBytes: UInt64?
    private var truncation: Damage?

    var walPath: String { path + "-wal" }

    /// Records the identities of both files. Both exist while SQLite has a log open.
    ///
    /// - Parameter pages: The number of pages of the database. If a process was killed after it had removed free pages,
    ///   the file is larger than these pages until the next checkpoint.
    init(path: String, pageSize: UInt64, pages: UInt64) throws(Errno) {
        self.path = path
        self.pageSize = pageSize
        let status = try FileStatus(at: path)
        database = status.identity
        minimumDatabaseBytes = status.bytes
        wal = try FileStatus(at: path + "-wal").identity
        if pages * pageSize < minimumDatabaseBytes { shrunkDatabaseBytes = pages * pageSize }
    }

    /// Checks both files.
    ///
    /// - Parameter walPages: The number of pages that SQLite has written to the write-ahead log.
    mutating func check(walPages: Int32) -> Result<Sizes, Damage> {
        do throws(Damage) {
            let sizes = try Sizes(
                database: Self.size(.database, at: path, is: database),
                wal: Self.size(.writeAheadLog, at: walPath, is: wal))
            if let truncation { throw truncation }
            if sizes.database < min(minimumDatabaseBytes, shrunkDatabaseBytes ?? .max) {
                throw noteTruncation(.database, path, from: minimumDatabaseBytes, to: sizes.database)
            }
            minimumDatabaseBytes = sizes.database
            if let shrunk = shrunkDatabaseBytes, sizes.database <= shrunk { shrunkDatabaseBytes = nil }
            try checkWAL(size: sizes.wal, pages: walPages)
            return .success(sizes)
        } catch {
            return .failure(error)
        }
    }

    /// Notes that free pages were removed: the next checkpoint shrinks the database to `bytes`, if nothing is added.
    mutating func databaseShrinks(to bytes: UInt64) {
        shrunkDatabaseBytes = min(bytes, shrunkDatabaseBytes ?? .max)
    }

    /// Checks the size of the write-ahead log. Also called before a commit: a write beyond the end of a truncated file
    /// would leave a hole and hide the truncation.
    mutating func checkWAL(size: UInt64, pages: Int32) throws(Damage) {
        let least = pages == 0 ? 0 : 32 + UInt64(pages) * (24 + pageSize)
        if size < least { throw noteTruncation(.writeAheadLog, walPath, from: least, to: size) }
    }

    private mutating func noteTruncation(_ file: File, _ path: String, from: UInt64, to: UInt64) -> Damage {
        let damage = Damage(file: file, path: path, kind: .truncated(from: from, to: to))
        truncation = damage
        return damage
    }

    /// Whether the write-ahead log is still at its path. Does not check the database.
    var isWALInPlace: Bool { (try? Self.size(.writeAheadLog, at: walPath, is: wal)) != nil }

    /// Whether one of the files was truncated, even if it is no longer at its path.
    var isTruncated: Bool { truncation != nil }

    private static func size(
        _ file: File, at path: String, is expected: FileStatus.Identity
    ) throws(Damage) -> UInt64 {
        let status: FileStatus
        do throws(Errno) {
            status = try FileStatus(at: path)
        } catch {
            throw Damage(
                file: file, path: path, kind: error == .noSuchFileOrDirectory ? .missing : .unreachable(error))
        }
        guard status.identity == expected else { throw Damage(file: file, path: path, kind: .replaced) }
        return status.bytes
    }
}

extension LogFiles.Damage: CustomStringConvertible {
    /// The problem and its solution, in one line without a final period.
    var description: String {
        let renewal =
            file == .database
            ? "reload notifyd (SIGHUP) for a new log with the newest messages, which are in memory"
            : "reload notifyd (SIGHUP), which recreates it without data loss"
        let solution =
            switch kind {
            case .missing: ": move it back, or \(renewal)"
            case .replaced: ": move that away, then move the original back or \(renewal)"
            case .truncated:
                ": stop notifyd and restore a copy, or move the database and its write-ahead log away and reload notifyd "
                    + "(SIGHUP) for a new log with the newest messages"
            case .unreachable: ""
            }
        return "\(name) \(problem)\(solution)"
    }

    var storageFailure: StorageFailure { StorageFailure(kind: .inputOutput, message: description) }

    /// The problem, and what to do before the next start, for the message of the daemon's end. That message has already
    /// named the database.
    var finalDescription: String {
        let solution =
            switch (kind, file) {
            case (.missing, .database):
                ": move it back before the next start, which otherwise begins with an empty log"
            case (.replaced, .database): ": move the original back before the next start"
            case (.truncated, _): ": restore a copy before the next start"
            case (.unreachable, _), (_, .writeAheadLog): "; the next start recovers as after a crash"
            }
        return "\(file == .database ? "it" : name) \(problem)\(solution)"
    }

    private var problem: String {
        switch kind {
        case .missing: "was deleted or moved away"
        case .replaced: "was replaced by another file"
        case .truncated(let from, let to): "was truncated from \(from) to \(to) bytes"
        case .unreachable(let error): "can't be accessed: \(AccessProblem.describe(error, opening: path))"
        }
    }

    private var name: String {
        file == .database ? "the database '\(path)'" : "the write-ahead log '\(path)' of the database"
    }
}
