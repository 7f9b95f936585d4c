/// Tells a log from other databases, and brings an older one up to the present version.
enum Schema {
    /// "ntfd", in the database's header.
    static let applicationID: Int32 = 0x6E74_6664
    static var version: Int { Migrations.steps.count }
    static let pageSize = 4096

    /// Opens the connection, refuses what is not ours, and brings an older log up to this version.
    ///
    /// - Throws: `noRoomForNew` where there is no log yet, and the disk has no room for one.
    static func open(_ path: String) throws -> DatabaseConnection {
        let database = try DatabaseConnection(path: path)
        // Before the first read: the index of the write-ahead log is then kept in memory, not in a shared file.
        try database.execute("PRAGMA locking_mode = EXCLUSIVE")
        let isNew = try check(database, path: path)
        do {
            try setUp(database)
            try Migrations.run(on: database)
        } catch let failure as SQLiteFailure where isNew && failure.isFull {
            throw StoreError(noRoomFor: path, failure)
        }
        return database
    }

    private static func setUp(_ database: DatabaseConnection) throws {
        try database.execute("PRAGMA page_size = \(pageSize)")
        guard try database.text("PRAGMA journal_mode = WAL") == "wal" else {
            throw StoreError(.inputOutput, "SQLite can't keep a write-ahead log here; use a local file system")
        }
        // A write-ahead log that has grown for a large batch is cut back when it starts over.
        try database.execute("PRAGMA journal_size_limit = \(64 * 1024 * 1024); PRAGMA synchronous = FULL")
    }

    /// Refuses what this version must not write to. Changes nothing. Returns whether there is no log yet.
    private static func check(_ database: DatabaseConnection, path: String) throws -> Bool {
        let applicationID = try database.integer("PRAGMA application_id")
        let version = try database.integer("PRAGMA user_version")
        guard applicationID == Self.applicationID else {
            guard try applicationID == 0 && version == 0 && isEmpty(database) else { throw foreign(path) }
            return true
        }
        guard version > 0 else {
            throw StoreError(
                .damaged,
                "the database '\(path)' has the schema \(version), which there is not; "
                    + "restore it from a copy or use another path")
        }
        guard version <= Self.version else {
            throw StoreError(
                .newerSchema,
                "the database '\(path)' was written by a newer notifyd (schema \(version), this one knows "
                    + "\(Self.version)); run that version or use another path")
        }
        return false
    }

    /// Whether the database has no tables, or only the one that a creation of version 1 made before all else. It was
    /// interrupted where it is the only one.
    private static func isEmpty(_ database: DatabaseConnection) throws -> Bool {
        guard try database.integer("SELECT count(*) FROM sqlite_schema WHERE tbl_name != 'grdb_migrations'") == 0
        else { return false }
        let isInterrupted = try database.integer("SELECT count(*) FROM sqlite_schema") > 0
        return try !isInterrupted || database.integer("SELECT count(*) FROM grdb_migrations") == 0
    }

    static func foreign(_ path: String) -> StoreError {
        StoreError(
            .foreignDatabase,
            "the file '\(path)' is another program's database; it was left as it is, choose another path")
    }
}
