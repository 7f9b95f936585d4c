import CSQLite
import Glibc
import NotifyWire

/// A connection to the database through SQLite's C interface. Must be used by one thread at a time.
///
/// A database file is not trusted: no trigger runs, no view can be read, and definitions in the file can call only
/// functions without side effects.
final class DatabaseConnection {
    /// Nil once the connection is closed. Preparing a statement or running a checkpoint then fails.
    private(set) var handle: OpaquePointer?
    private var workLimit: WorkLimit?

    /// Opens the database file at `path`, which must exist. Does not read the file yet.
    ///
    /// - Parameters:
    ///   - isForeign: Whether the file may come from another source, such as a backup. Statements on it then fail after
    ///     a number of steps that depends on the size of the file.
    ///   - gathersWrites: Whether to open the file with ``GatheringVFS``. Requires exclusive locking, which must be set
    ///     before the first read.
    convenience init(
        path: String, isForeign: Bool = false, gathersWrites: Bool = false
    ) throws(SQLiteFailure) {
        try self.init(path, flags: SQLITE_OPEN_READWRITE, vfs: gathersWrites ? GatheringVFS.name : nil)
        if isForeign { try limitWork(path) }
    }

    /// Creates an empty database in memory.
    convenience init() throws(SQLiteFailure) {
        try self.init(":memory:", flags: SQLITE_OPEN_READWRITE)
    }

    private init(_ name: String, flags: Int32, vfs: String? = nil) throws(SQLiteFailure) {
        guard sqlite3_open_v2(name, &handle, flags | SQLITE_OPEN_NOMUTEX, vfs) == SQLITE_OK else {
            // The handle of a failed call contains the error, and must be closed like any other handle.
            defer { close() }
            throw SQLiteFailure(handle)
        }
        protect()
    }

    /// Opens a log's database for reading, as a foreign file. Changes neither the database nor its write-ahead log, and
    /// creates no file.
    ///
    /// Without a write-ahead log, SQLite takes no locks: the caller ensures that no daemon uses the database.
    convenience init(reading path: String) throws(SQLiteFailure) {
        var status = stat()
        if stat(path + "-wal", &status) == 0, status.st_size > 0 {
            try self.init(path, flags: SQLITE_OPEN_READWRITE)
            try limitWork(path)
            // With exclusive locking, the index of the write-ahead log is in memory.
            try execute("PRAGMA locking_mode = EXCLUSIVE; PRAGMA query_only = 1")
        } else {
            let escaped = path.map { "%?#".contains($0) ? "%" + String($0.asciiValue ?? 0, radix: 16) : String($0) }
            try self.init("file:\(escaped.joined())?immutable=1", flags: SQLITE_OPEN_READONLY | SQLITE_OPEN_URI)
            try limitWork(path)
        }
        keepFilesOnClose()
    }

    deinit {
        close()
    }

    /// Closes the connection. Once every statement is finalized, SQLite closes the files and thereby releases its
    /// locks.
    func close() {
        guard let handle else { return }
        sqlite3_progress_handler(handle, 0, nil, nil)
        sqlite3_close_v2(handle)
        self.handle = nil
        workLimit = nil
    }

    // MARK: Protection

    /// SQLite's limits for statements, including the definitions in a file, and for values. They follow SQLite's advice
    /// on untrusted files, as far as the log's own statements allow.
    private static let limits: [(Int32, Int)] = [
        (SQLITE_LIMIT_LENGTH, 2 * Limits.maximumPayloadBytes),
        (SQLITE_LIMIT_SQL_LENGTH, 1_000_000),
        (SQLITE_LIMIT_COLUMN, 100),
        (SQLITE_LIMIT_EXPR_DEPTH, 32),
        (SQLITE_LIMIT_COMPOUND_SELECT, 3),
        (SQLITE_LIMIT_VDBE_OP, 250_000),
        (SQLITE_LIMIT_FUNCTION_ARG, 8),
        // VACUUM attaches a temporary database.
        (SQLITE_LIMIT_ATTACHED, 1),
        (SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 50),
        (SQLITE_LIMIT_VARIABLE_NUMBER, 64),
        (SQLITE_LIMIT_TRIGGER_DEPTH, 1),
    ]

    private func protect() {
        set(SQLITE_DBCONFIG_DEFENSIVE, true)
        for option in [SQLITE_DBCONFIG_TRUSTED_SCHEMA, SQLITE_DBCONFIG_ENABLE_TRIGGER, SQLITE_DBCONFIG_ENABLE_VIEW] {
            set(option, false)
        }
        for (limit, value) in Self.limits { sqlite3_limit(handle, limit, Int32(value)) }
    }

    private func set(_ option: Int32, _ isOn: Bool) {
        guard let handle else { return }
        let result = notifyd_set_option(handle, option, isOn ? 1 : 0)
        precondition(result == SQLITE_OK, "SQLite does not know the option \(option)")
    }

    private func limitWork(_ path: String) throws(SQLiteFailure) {
        workLimit = WorkLimit(of: handle, path: path)
        // Lets SQLite check the cells of each page when it reads the page.
        try execute("PRAGMA cell_size_check = 1")
    }

    // MARK: Statements

    /// Makes `close` skip the checkpoint and keep the write-ahead log.
    func keepFilesOnClose() {
        set(SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)
    }

    /// Runs statements that return no rows.
    func execute(_ sql: String) throws(SQLiteFailure) {
        guard sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK else { throw SQLiteFailure(handle) }
    }

    /// The number of rows that the last statement has inserted, changed or deleted.
    var changedRows: Int { Int(sqlite3_changes64(handle)) }

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

    /// The open write-ahead log; nil if none is open.
    private var log: UnsafeMutablePointer<sqlite3_file>? {
        var file: UnsafeMutablePointer<sqlite3_file>?
        guard let handle, sqlite3_file_control(handle, "main", SQLITE_FCNTL_JOURNAL_POINTER, &file) == SQLITE_OK,
            file?.pointee.pMethods != nil
        else { return nil }
        return file
    }

    /// Sets the size in bytes up to which flushes extend the write-ahead log in advance; 0 for no extension.
    func extendLog(upTo limit: Int) {
        guard let log, let methods = log.pointee.pMethods else { return }
        var limit = Int64(limit)
        // Without `GatheringVFS`, the operation is unknown, and the log is not extended.
        _ = methods.pointee.xFileControl(log, GatheringVFS.extendOperation, &limit)
    }

    /// The size in bytes of the open write-ahead log, even if another file is at its path; nil if no write-ahead log is
    /// open.
    var walBytes: UInt64? {
        var size: Int64 = 0
        guard let log, let methods = log.pointee.pMethods, methods.pointee.xFileSize(log, &size) == SQLITE_OK
        else { return nil }
        return UInt64(size)
    }

    /// Whether a transaction is open. After some failures, SQLite itself rolls the transaction back.
    var isInTransaction: Bool {
        guard let handle else { return false }
        return sqlite3_get_autocommit(handle) == 0
    }
}
