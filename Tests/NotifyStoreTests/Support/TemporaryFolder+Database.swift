import Foundation
import CSQLite
import TestSupport
import Testing

extension TemporaryFolder {
    var database: String { file("log.db") }

    /// Runs statements on the database, and creates the database if necessary. No store may have the database open.
    func execute(_ sql: String) throws {
        try withDatabase { connection in
            try #require(
                sqlite3_exec(connection, sql, nil, nil, nil) == SQLITE_OK,
                "\(String(cString: sqlite3_errmsg(connection)))")
        }
    }

    /// Returns the rows of a query. Bars separate the values of a row. No store may have the database open.
    func rows(_ sql: String) throws -> [String] {
        try withDatabase { connection in
            var query: OpaquePointer?
            defer { sqlite3_finalize(query) }
            try #require(sqlite3_prepare_v2(connection, sql, -1, &query, nil) == SQLITE_OK)
            var rows: [String] = []
            while sqlite3_step(query) == SQLITE_ROW {
                let values = (0..<sqlite3_column_count(query)).map { column in
                    sqlite3_column_text(query, column).map { String(cString: $0) } ?? "NULL"
                }
                rows.append(values.joined(separator: "|"))
            }
            return rows
        }
    }

    private func withDatabase<Result>(_ body: (OpaquePointer?) throws -> Result) throws -> Result {
        var connection: OpaquePointer?
        defer { sqlite3_close(connection) }
        try #require(sqlite3_open(database, &connection) == SQLITE_OK)
        return try body(connection)
    }

    /// Copies the database as a crash at this moment would leave it on disk. A child process reads the files, because
    /// closing a file in this process would release SQLite's locks on the file.
    func copyDatabase(to other: TemporaryFolder) throws {
        try copy(database, to: other.database)
        if exists(database + "-wal") { try copy(database + "-wal", to: other.database + "-wal") }
    }

    private func copy(_ source: String, to target: String) throws {
        let child = Process()
        child.executableURL = URL(fileURLWithPath: "/bin/cp")
        child.arguments = [source, target]
        try child.run()
        child.waitUntilExit()
        guard child.terminationStatus == 0 else { throw CocoaError(.fileReadUnknown) }
    }
}
