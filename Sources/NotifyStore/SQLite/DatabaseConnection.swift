import GRDBSQLite

/// A connection to the database, through SQLite's C interface.
struct DatabaseConnection {
    let handle: OpaquePointer

    /// Runs statements that return no rows.
    func execute(_ sql: String) throws(SQLiteFailure) {
        guard sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK else { throw SQLiteFailure(handle) }
    }

    /// The integer in the first column of the first row; 0 where there is no row.
    func integer(_ sql: String) throws(SQLiteFailure) -> Int64 {
        let query = try PreparedStatement(handle, sql)
        return try query.step() ? Int64(bitPattern: query.integer(0)) : 0
    }

    /// The text in the first column of the first row; empty where there is no row.
    func text(_ sql: String) throws(SQLiteFailure) -> String {
        let query = try PreparedStatement(handle, sql)
        return try query.step() ? query.text(0) : ""
    }

    /// Runs `body` in a transaction that is rolled back where it fails.
    func inTransaction(_ body: () throws -> Void) throws {
        try execute("BEGIN IMMEDIATE")
        do {
            try body()
            try execute("COMMIT")
        } catch {
            // After some failures SQLite has rolled back by itself.
            if sqlite3_get_autocommit(handle) == 0 { try? execute("ROLLBACK") }
            throw error
        }
    }
}
