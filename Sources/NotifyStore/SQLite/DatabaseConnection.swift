import CSQLite

/// A connection to the database, through SQLite's C interface. To be used by one thread at a time.
final class DatabaseConnection {
    /// Nil once the connection is closed: SQLite then refuses every call.
    private(set) var handle: OpaquePointer?

    /// Opens the database file at `path`, which must exist. Reads nothing of it yet.
    init(path: String) throws(SQLiteFailure) {
        let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX
        guard sqlite3_open_v2(path, &handle, flags, nil) == SQLITE_OK else {
            // The handle of a failed call tells why, and is closed like any other.
            defer { close() }
            throw SQLiteFailure(handle)
        }
    }

    deinit {
        close()
    }

    /// Closes the database's files, once every statement is finalized, and with them ends SQLite's locks.
    func close() {
        sqlite3_close_v2(handle)
        handle = nil
    }

    /// Has `close` leave the files as they are, the write-ahead log among them.
    func keepFilesOnClose() {
        guard let handle else { return }
        _ = notifyd_keep_files_on_close(handle, 1)
    }

    /// Runs statements that return no rows.
    func execute(_ sql: String) throws(SQLiteFailure) {
        guard sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK else { throw SQLiteFailure(handle) }
    }

    /// The integer in the first column of the first row; 0 where there is no row.
    func integer(_ sql: String) throws(SQLiteFailure) -> Int64 {
        let query = try PreparedStatement(self, sql)
        return try query.step() ? Int64(bitPattern: query.integer(0)) : 0
    }

    /// The text in the first column of the first row; empty where there is no row.
    func text(_ sql: String) throws(SQLiteFailure) -> String {
        let query = try PreparedStatement(self, sql)
        return try query.step() ? query.text(0) : ""
    }

    /// The size of the write-ahead log that is open, wherever its path leads to; nil where there is none.
    var walBytes: UInt64? {
        var file: UnsafeMutablePointer<sqlite3_file>?
        var size: Int64 = 0
        guard let handle, sqlite3_file_control(handle, "main", SQLITE_FCNTL_JOURNAL_POINTER, &file) == SQLITE_OK,
            let file, let methods = file.pointee.pMethods, methods.pointee.xFileSize(file, &size) == SQLITE_OK
        else { return nil }
        return UInt64(size)
    }

    /// Whether a transaction has begun that neither was committed nor has SQLite rolled it back after a failure.
    var isInTransaction: Bool { sqlite3_get_autocommit(handle) == 0 }

    /// Runs `body` in a transaction that is rolled back where it fails.
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
