import CSQLite
import Glibc

/// A connection to the database through SQLite's C interface. Must be used by one thread at a time.
final class DatabaseConnection {
    /// Nil once the connection is closed. Preparing a statement or running a checkpoint then fails.
    private(set) var handle: OpaquePointer?

    /// Opens the database file at `path`, which must exist. Does not read it yet.
    convenience init(path: String) throws(SQLiteFailure) {
        try self.init(path, flags: SQLITE_OPEN_READWRITE)
    }

    private init(_ name: String, flags: Int32) throws(SQLiteFailure) {
        guard sqlite3_open_v2(name, &handle, flags | SQLITE_OPEN_NOMUTEX, nil) == SQLITE_OK else {
            // The handle of a failed call contains the error, and must be closed like any other handle.
            defer { close() }
            throw SQLiteFailure(handle)
        }
    }

    /// Opens a log's database for reading. Changes neither it nor its write-ahead log, and creates no file.
    ///
    /// Without a write-ahead log, SQLite takes no locks: the caller ensures that no daemon uses the database.
    convenience init(reading path: String) throws(SQLiteFailure) {
        var status = stat()
        if stat(path + "-wal", &status) == 0, status.st_size > 0 {
            try self.init(path: path)
            // The index of the write-ahead log is then in memory.
            try execute("PRAGMA locking_mode = EXCLUSIVE; PRAGMA query_only = 1")
        } else {
            let escaped = path.map { "%?#".contains($0) ? "%" + String($0.asciiValue ?? 0, radix: 16) : String($0) }
            try self.init("file:\(escaped.joined())?immutable=1", flags: SQLITE_OPEN_READONLY | SQLITE_OPEN_URI)
        }
        keepFilesOnClose()
    }

    deinit {
        close()
    }

    /// Closes the connection. Once every statement is finalized, SQLite closes the files and thereby releases its
    /// locks.
    func close() {
        sqlite3_close_v2(handle)
        handle = nil
    }

    /// Makes `close` skip the checkpoint and keep the write-ahead log.
    func keepFilesOnClose() {
        guard let handle else { return }
        _ = notifyd_keep_files_on_close(handle, 1)
    }

    /// Runs statements that return no rows.
    func execute(_ sql: String) throws(SQLiteFailure) {
        guard sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK else { throw SQLiteFailure(handle) }
    }

    /// The integer in the first column of the first row; 0 if there is no row.
    func integer(_ sql: String) throws(SQLiteFailure) -> Int64 {
        let query = try PreparedStatement(self, sql)
        return try query.step() ? Int64(bitPattern: query.integer(0)) : 0
    }

    /// The text in the first column of the first row; empty if there is no row.
    func text(_ sql: String) throws(SQLiteFailure) -> String {
        let query = try PreparedStatement(self, sql)
        return try query.step() ? query.text(0) : ""
    }

    /// The size in bytes of the open write-ahead log, even if another file is at its path; nil if no write-ahead log is
    /// open.
    var walBytes: UInt64? {
        var file: UnsafeMutablePointer<sqlite3_file>?
        var size: Int64 = 0
        guard let handle, sqlite3_file_control(handle, "main", SQLITE_FCNTL_JOURNAL_POINTER, &file) == SQLITE_OK,
            let file, let methods = file.pointee.pMethods, methods.pointee.xFileSize(file, &size) == SQLITE_OK
        else { return nil }
        return UInt64(size)
    }

    /// Whether a transaction is open. After some failures, SQLite itself rolls the transaction back.
    var isInTransaction: Bool {
        guard let handle else { return false }
        return sqlite3_get_autocommit(handle) == 0
    }

    /// Runs `body` in a transaction. On an error, the transaction is rolled back.
    func inTransaction(_ body: () throws -> Void) throws {
        try execute("BEGIN IMMEDIATE")
        do {
            try body()
            try execute("COMMIT")
        } catch {
            if isInTransaction { try? execute("ROLLBACK") }
            throw error
        }
    }
}
