import CSQLite
import Glibc
import NotifyLog
package import NotifySystem
import SystemPackage

/// An error of opening, closing, checking, repairing or restoring a log.
package typealias StoreError = DaemonError<StoreErrorCode>

/// What is wrong, for tests and for callers that handle some of the problems.
package enum StoreErrorCode: Sendable {
    /// Another process holds the log.
    case inUse
    /// The file at the path, or its lock file, is not a regular file.
    case notARegularFile
    /// The file is not an SQLite database.
    case notADatabase
    /// The file is another program's database.
    case foreignDatabase
    /// The file has the schema of another version of notifyd: of a newer one or, for a repair, of an earlier one.
    case otherSchema
    /// A file or its directory can't be created, read or written, or another user may change it.
    case notAccessible
    /// The disk is full.
    case full
    /// The disk is full, and there is no log yet. `Store.open` handles this error and never throws it.
    case noRoomForNew
    /// The log's content is inconsistent.
    case damaged
    /// Reading or writing failed.
    case inputOutput
}

extension StoreError {
    /// Converts an error of opening the log.
    init(opening path: String, _ error: any Error) {
        if let error = error as? StoreError {
            self = error
            return
        }
        guard let failure = error as? SQLiteFailure else {
            self.init(.inputOutput, "the database '\(path)' can't be opened: \(error)")
            return
        }
        let (code, reason) = Self.describe(failure, opening: path)
        self.init(code, reason)
    }

    private static func describe(_ failure: SQLiteFailure, opening path: String) -> (StoreErrorCode, String) {
        switch failure.primaryCode {
        case _ where failure.isFull:
            (.full, "the disk is full: the database '\(path)' can't be opened; make room on it")
        case SQLITE_BUSY, SQLITE_LOCKED:
            (.inUse, "another process has the database '\(path)' open; stop it or use another path")
        case SQLITE_NOTADB:
            (.notADatabase, notADatabase(path).message)
        case SQLITE_CORRUPT, SQLITE_INTERRUPT:
            (.damaged, "\(failure)")
        case SQLITE_CANTOPEN, SQLITE_PERM, SQLITE_READONLY:
            (.notAccessible, describeAccess(failure, path))
        default:
            (.inputOutput, "the database '\(path)' can't be opened: \(failure)")
        }
    }

    /// The error for a file that is neither a database nor a log with a damaged header.
    static func notADatabase(_ path: String) -> StoreError {
        StoreError(
            .notADatabase,
            "the file '\(path)' is not a database; it was not changed; restore a backup with \"notifyd --restore FILE\", "
                + "move it away to start with an empty log, or choose another path")
    }

    /// Describes why a file can't be opened. SQLite does not report which file it was: if the database itself is
    /// accessible, it was the write-ahead log.
    private static func describeAccess(_ failure: SQLiteFailure, _ path: String) -> String {
        let isAccessible = faccessat(AT_FDCWD, path, R_OK | W_OK, AT_EACCESS) == 0
        let file = isAccessible ? path + "-wal" : path
        let name = isAccessible ? "the write-ahead log '\(file)' of the database" : "the database '\(file)'"
        let error = failure.systemError == 0 ? Errno.permissionDenied : Errno(rawValue: failure.systemError)
        return "\(name) can't be opened: \(AccessProblem.describe(error, opening: file))"
    }

    /// The error for a lock file of the database at `path` that can't be locked.
    init(locking path: String, _ failure: FileLock.Failure) {
        let lockPath = FileLock.path(guarding: path)
        switch failure {
        case .held(let holder):
            let process = holder.map { " (process \($0))" } ?? ""
            self.init(
                .inUse, "the database '\(path)' is held by another notifyd\(process); stop it or use another path")
        case .notARegularFile:
            self.init(
                .notARegularFile, "'\(lockPath)' is not a regular file; move it away or choose another path")
        case .notTrusted(let problem):
            self.init(notTrusted: path, problem)
        case .notOpened(let error):
            self.init(
                [.noSpace, .diskQuotaExceeded].contains(error) ? .full : .notAccessible,
                "the lock file '\(lockPath)' can't be opened: \(AccessProblem.describe(error, opening: lockPath))")
        case .notLocked(let error):
            self.init(.notAccessible, "'\(lockPath)' can't be locked: \(error)")
        }
    }

    init(noRoomFor path: String) {
        self.init(
            .noRoomForNew,
            "the database '\(path)' can't be created: the file system of '\(AccessProblem.directory(of: path))' is full; "
                + "make room on it")
    }

    init(notTrusted path: String, _ problem: OwnershipProblem) {
        self.init(
            .notAccessible, "the database '\(path)' is not opened: \(problem), or use another path")
    }

    /// The error as the failure of a request to the log.
    var storageFailure: StorageFailure {
        let kind: StorageFailure.Kind =
            switch code {
            case .full, .noRoomForNew: .full
            case .damaged: .damaged
            default: .inputOutput
            }
        return StorageFailure(kind: kind, message: message)
    }

    init(closing path: String, _ error: any Error) {
        let isFull = (error as? SQLiteFailure)?.isFull ?? false
        let reason =
            (error as? LogFiles.Damage)?.finalDescription ?? "\(error); the next start recovers as after a crash"
        self.init(
            isFull ? .full : .inputOutput, "the database '\(path)' could not be closed cleanly: \(reason)")
    }
}
