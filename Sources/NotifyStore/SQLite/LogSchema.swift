/// The schema of a log of some version. The schema of a file is compared to it before anything else in the file is
/// used.
///
/// A definition in a file can change the effect of a statement: a trigger, a conflict clause or a check can delete or
/// refuse rows, and reading a view or a computed column may never end.
struct LogSchema {
    private let entries: [SchemaEntry]
    /// The columns of each table.
    private let columns: [String: [TableColumn]]
    private let version: Int

    /// The schema of an empty log that is migrated to a version.
    init(version: Int) throws {
        let database = try DatabaseConnection()
        try Migrations.run(Array(Migrations.steps.prefix(version)), on: database)
        entries = try database.schemaEntries()
        var columns: [String: [TableColumn]] = [:]
        for entry in entries where entry.type == "table" { columns[entry.name] = try database.columns(of: entry.name) }
        self.columns = columns
        self.version = version
    }

    /// Describes the first entry of a database's schema that differs from this schema; nil if all entries are the same.
    func difference(in database: DatabaseConnection) throws(SQLiteFailure) -> String? {
        guard try database.text("PRAGMA encoding") == "UTF-8" else { return "its text is not encoded in UTF-8" }
        // The sizes of the log are counted in pages of this size.
        let pageSize = try database.text("PRAGMA page_size")
        guard pageSize == "\(Schema.pageSize)" else {
            return "its pages have \(pageSize) bytes instead of \(Schema.pageSize)"
        }
        return difference(in: version == 1 ? earlyEntries(try database.schemaEntries()) : try database.schemaEntries())
    }

    private func difference(in found: [SchemaEntry]) -> String? {
        var missing = Set(entries)
        for entry in found where missing.remove(entry) == nil {
            let isChanged = entries.contains { $0.type == entry.type && $0.name == entry.name }
            return isChanged
                ? "the definition of the \(entry.title) differs from that in a log"
                : "the \(entry.title) is not part of a log"
        }
        return missing.min { $0.name < $1.name }.map { "the \($0.title) is missing" }
    }

    /// The tables that can be read row by row, even if the rest of the schema differs. These are the tables of a log in
    /// which no stored column is missing. Altered rows are detected by their checksums.
    func readableTables(in database: DatabaseConnection) throws(SQLiteFailure) -> Set<String> {
        let found = try database.schemaEntries()
        var tables: Set<String> = []
        for (table, expected) in columns {
            let entry = found.first { $0.name == table && $0.type == "table" }
            // This excludes virtual tables, whose content an extension of SQLite provides: they begin with "CREATE
            // VIRTUAL TABLE".
            guard let entry, entry.text.hasPrefix("CREATE TABLE ") else { continue }
            if try Set(expected).isSubset(of: database.columns(of: table)) { tables.insert(table) }
        }
        return tables
    }

    // MARK: Version 1

    /// Converts the entries of a version 1 file to today's form. The first logs of version 1 contain the table of an
    /// earlier migrator, and their table `state` may lack the column `flushes`.
    private func earlyEntries(_ found: [SchemaEntry]) -> [SchemaEntry] {
        found.filter { !Self.migratorEntries.contains($0) }.map { entry in
            guard let state = entries.first(where: { $0.name == "state" && $0.type == "table" }),
                Self.earlyState.contains(where: { entry == state.with(clean: $0) })
            else { return entry }
            return state
        }
    }

    /// The last column definitions of the table `state` in the first logs of version 1.
    private static let earlyState = [
        "clean INTEGER NOT NULL", "clean INTEGER NOT NULL, flushes INTEGER NOT NULL",
    ]

    /// The table of the earlier migrator, and its index.
    static let migratorEntries: Set<SchemaEntry> = [
        SchemaEntry(
            type: "table", name: "grdb_migrations", table: "grdb_migrations",
            text: "CREATE TABLE grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY)"),
        SchemaEntry(
            type: "index", name: "sqlite_autoindex_grdb_migrations_1", table: "grdb_migrations", text: ""),
    ]
}

extension SchemaEntry {
    /// The table `state` of version 1, with `end` in place of the definitions of its last columns.
    fileprivate func with(clean end: String) -> SchemaEntry {
        let columns = "clean INTEGER NOT NULL,\n    flushes INTEGER NOT NULL"
        return SchemaEntry(type: type, name: name, table: table, text: text.replacing(columns, with: end))
    }
}

/// A stored column of a table, and its position in the primary key.
private struct TableColumn: Hashable {
    let name: String
    let keyPosition: UInt64
}

extension DatabaseConnection {
    /// The stored columns of a table. Computed ones are left out.
    fileprivate func columns(of table: String) throws(SQLiteFailure) -> [TableColumn] {
        let rows = try PreparedStatement(self, "PRAGMA table_xinfo(\(table))")
        var columns: [TableColumn] = []
        while try rows.step() {
            guard rows.integer(6) == 0 else { continue }
            columns.append(TableColumn(name: rows.text(1), keyPosition: rows.integer(5)))
        }
        return columns
    }
}
