import CSQLite

/// A statement that is prepared once and run many times through SQLite's C interface.
///
/// Bytes are bound without a copy and must stay valid until the parameter is bound again or ``clearBindings()`` is
/// called. Only `bindText(_:copying:)` copies.
final class PreparedStatement {
    private let handle: OpaquePointer

    init(_ connection: DatabaseConnection, _ sql: String) throws(SQLiteFailure) {
        var handle: OpaquePointer?
        let code = sqlite3_prepare_v3(connection.handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &handle, nil)
        guard code == SQLITE_OK, let handle else { throw SQLiteFailure(connection.handle) }
        self.handle = handle
    }

    deinit {
        sqlite3_finalize(handle)
    }

    /// Runs a statement whose rows, if any, are not needed, and resets it for the next run.
    func run() throws(SQLiteFailure) {
        let code = sqlite3_step(handle)
        guard code == SQLITE_DONE || code == SQLITE_ROW else {
            let failure = SQLiteFailure(sqlite3_db_handle(handle))
            sqlite3_reset(handle)
            throw failure
        }
        sqlite3_reset(handle)
    }

    /// Steps to the next row. The caller must call ``reset()`` after the last step, even if it throws.
    ///
    /// - Returns: False if there are no more rows.
    func step() throws(SQLiteFailure) -> Bool {
        switch sqlite3_step(handle) {
        case SQLITE_ROW: true
        case SQLITE_DONE: false
        default: throw SQLiteFailure(sqlite3_db_handle(handle))
        }
    }

    /// Runs a statement that returns one number.
    func number() throws(SQLiteFailure) -> UInt64 {
        defer { reset() }
        return try step() ? integer(0) : 0
    }

    func reset() {
        sqlite3_reset(handle)
    }

    /// Clears all bindings, so that bound bytes may be released.
    func clearBindings() {
        sqlite3_clear_bindings(handle)
    }

    func bind(_ index: Int32, _ value: Int64) throws(SQLiteFailure) {
        try check(sqlite3_bind_int64(handle, index, value))
    }

    func bind(_ index: Int32, _ value: UInt64) throws(SQLiteFailure) {
        try bind(index, Int64(bitPattern: value))
    }

    func bind(_ index: Int32, _ value: UInt32) throws(SQLiteFailure) {
        try bind(index, Int64(value))
    }

    /// Binds text, or NULL if it is empty.
    func bindText(_ index: Int32, _ bytes: UnsafeRawBufferPointer) throws(SQLiteFailure) {
        guard let base = bytes.baseAddress, !bytes.isEmpty else { return try check(sqlite3_bind_null(handle, index)) }
        let text = base.assumingMemoryBound(to: CChar.self)
        try check(sqlite3_bind_text64(handle, index, text, UInt64(bytes.count), nil, UInt8(SQLITE_UTF8)))
    }

    /// Binds a copy of text, or NULL if it is empty.
    func bindText(_ index: Int32, copying text: String) throws(SQLiteFailure) {
        guard !text.isEmpty else { return try check(sqlite3_bind_null(handle, index)) }
        // This is SQLITE_TRANSIENT, which Swift does not import, because it is a cast of -1 to a function pointer.
        let copies = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
        try check(sqlite3_bind_text64(handle, index, text, UInt64(text.utf8.count), copies, UInt8(SQLITE_UTF8)))
    }

    /// Binds a blob, or NULL if it is empty.
    func bindBlob(_ index: Int32, _ bytes: UnsafeRawBufferPointer) throws(SQLiteFailure) {
        guard let base = bytes.baseAddress, !bytes.isEmpty else { return try check(sqlite3_bind_null(handle, index)) }
        try check(sqlite3_bind_blob64(handle, index, base, UInt64(bytes.count), nil))
    }

    func integer(_ column: Int32) -> UInt64 {
        UInt64(bitPattern: sqlite3_column_int64(handle, column))
    }

    func integer32(_ column: Int32) -> UInt32 {
        UInt32(truncatingIfNeeded: sqlite3_column_int64(handle, column))
    }

    /// The bytes of a text or blob, empty for NULL. Valid until the next step or reset; the caller must keep the
    /// statement alive until then.
    func bytes(_ column: Int32) -> UnsafeRawBufferPointer {
        let base = sqlite3_column_blob(handle, column)
        return UnsafeRawBufferPointer(start: base, count: base == nil ? 0 : Int(sqlite3_column_bytes(handle, column)))
    }

    /// A copy of the bytes of a blob, empty for NULL.
    func blob(_ column: Int32) -> [UInt8] {
        Array(bytes(column))
    }

    /// The text of a column, empty for NULL.
    func text(_ column: Int32) -> String {
        String(decoding: bytes(column), as: UTF8.self)
    }

    private func check(_ code: Int32) throws(SQLiteFailure) {
        guard code == SQLITE_OK else { throw SQLiteFailure(sqlite3_db_handle(handle)) }
    }
}
