import GRDB
import NotifySystem
import SystemPackage

/// Why the log could not be opened or closed: a code for programs, a message that says what to do, and the cause.
package struct StoreError: Error {
    package enum Code: Sendable {
        /// Another process holds the log.
        case inUse
        /// The path names something that is not a regular file.
        case notARegularFile
        /// The file's content is no SQLite database.
        case notADatabase
        /// The file is another program's database.
        case foreignDatabase
        /// A newer notifyd has written the file.
        case newerSchema
        /// A file or its folder can't be created, read or written.
        case notAccessible
        /// The disk is full.
        case full
        /// The log's content contradicts itself.
        case damaged
        /// Reading or writing failed.
        case inputOutput
    }

    package let code: Code
    /// One line, for people.
    package let message: String
    package let cause: (any Error)?

    package init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }
}

extension StoreError: CustomStringConvertible {
    package var description: String { message }
}

extension StoreError {
    /// What SQLite or the log's own reading said while it was opened.
    init(opening path: String, _ error: any Error) {
        if let error = error as? StoreError {
            self = error
            return
        }
        switch Self.resultCode(error).primaryResultCode {
        case .SQLITE_BUSY, .SQLITE_LOCKED:
            self.init(
                .inUse, "another process has the database '\(path)' open; end it or use another path", cause: error)
        case .SQLITE_NOTADB:
            self.init(
                .notADatabase, "the file '\(path)' is not a database; it was left as it is, choose another path",
                cause: error)
        case .SQLITE_CORRUPT:
            self.init(
                .damaged, "the database '\(path)' is damaged: \(error); restore it from a copy or use another path",
                cause: error)
        case .SQLITE_FULL:
            self.init(.full, "the disk is full: the database '\(path)' can't be opened; make room on it", cause: error)
        case .SQLITE_CANTOPEN, .SQLITE_PERM, .SQLITE_READONLY:
            self.init(
                .notAccessible, "the database '\(path)' can't be written: \(error); it and its folder must be writable",
                cause: error)
        default:
            self.init(.inputOutput, "the database '\(path)' can't be opened: \(error)", cause: error)
        }
    }

    /// The error about the lock file of the database at `path`.
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
        case .notOpened(let error):
            self.init(
                [.noSpace, .diskQuotaExceeded].contains(error) ? .full : .notAccessible,
                "the lock file '\(lockPath)' can't be opened: \(AccessProblem.describe(error, opening: lockPath))",
                cause: error)
        case .notLocked(let error):
            self.init(.notAccessible, "'\(lockPath)' can't be locked: \(error)", cause: error)
        }
    }

    init(closing path: String, _ error: any Error) {
        self.init(
            Self.resultCode(error).primaryResultCode == .SQLITE_FULL ? .full : .inputOutput,
            "the database '\(path)' could not be closed in order: \(error); the next start takes it for a crash",
            cause: error)
    }

    private static func resultCode(_ error: any Error) -> ResultCode {
        switch error {
        case let error as DatabaseError: error.extendedResultCode
        case let error as SQLiteFailure: ResultCode(rawValue: error.code)
        default: .SQLITE_ERROR
        }
    }
}
