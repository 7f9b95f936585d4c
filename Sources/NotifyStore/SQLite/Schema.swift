import NotifySystem

/// A log's database that is ready to use.
struct OpenedDatabase {
    let connection: DatabaseConnection
    /// Why a database of an earlier version could not be rewritten; nil if it was rewritten or needs no rewriting.
    let rewriteProblem: String?
}

/// The schema of a log: distinguishes a log from other databases, and migrates an older log to the current version.
enum Schema {
    /// "ntfd", in the database's header.
    static let applicationID: Int32 = 0x6E74_6664
    static var version: Int { Migrations.steps.count }
    static let pageSize = 4096

    /// Opens a database, refuses it if another program wrote it or its schema was altered, and migrates an older log to
    /// this version.
    ///
    /// - Parameter isForeign: Whether the file may come from another source, such as a backup.
    /// - Throws: `noRoomForNew` if there is no log yet and the disk is full.
    static func open(_ path: String, isForeign: Bool = false) throws -> OpenedDatabase {
        let database = try DatabaseConnection(path: path, isForeign: isForeign, gathersWrites: true)
        // Set before the first read, so that the index of the write-ahead log is in memory and not in a shared file.
        try database.execute("PRAGMA locking_mode = EXCLUSIVE")
        let isNew = try check(database, path: path)
        do {
            try setUp(database, isNew: isNew)
            try Migrations.run(on: database)
        } catch let failure as SQLiteFailure where isNew && failure.isFull {
            throw StoreError(noRoomFor: path)
        }
        return OpenedDatabase(connection: database, rewriteProblem: rewrite(database, path))
    }

    /// Rewrites a database of an earlier version so that the space of deleted messages can return to the file system.
    ///
    /// - Returns: The reason why the database was not rewritten; nil if it was rewritten or needs no rewriting.
    private static func rewrite(_ database: DatabaseConnection, _ path: String) -> String? {
        do {
            guard try database.integer("PRAGMA auto_vacuum") != incrementalVacuum else { return nil }
            let bytes = try database.integer("PRAGMA page_count") * Int64(pageSize)
            let consequence =
                "until a start has rewritten the database '\(path)' of an earlier version, the space of deleted messages "
                + "does not return to the file system"
            // A temporary copy and the write-ahead log each need that many bytes.
            guard let disk = DiskSpace(at: path), disk.freeBytes >= 2 * UInt64(bytes) else {
                return "\(consequence); rewriting needs \((2 * bytes) >> 20) MiB of free disk space"
            }
            do {
                try database.execute("PRAGMA auto_vacuum = INCREMENTAL; VACUUM; PRAGMA wal_checkpoint(TRUNCATE)")
                return nil
            } catch {
                return "\(consequence); rewriting failed: \(error)"
            }
        } catch {
            return "the database '\(path)' was not examined: \(error)"
        }
    }

    /// The value of `PRAGMA auto_vacuum` in a log.
    private static let incrementalVacuum: Int64 = 2

    private static func setUp(_ database: DatabaseConnection, isNew: Bool) throws {
        try database.execute("PRAGMA page_size = \(pageSize)")
        // SQLite permits this only before the first table is created.
        if isNew { try database.execute("PRAGMA auto_vacuum = INCREMENTAL") }
        guard try database.text("PRAGMA journal_mode = WAL") == "wal" else {
            throw StoreError(.inputOutput, "SQLite can't keep a write-ahead log here; use a local file system")
        }
        try database.execute("PRAGMA synchronous = FULL")
    }

    /// Refuses a database that this version must not write to. Changes nothing.
    ///
    /// - Returns: Whether the database is empty, so that a new log is created in it.
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
                "its schema version \(version) is unknown")
        }
        guard version <= Self.version else { throw newer(path, version: version) }
        if let difference = try LogSchema(version: Int(version)).difference(in: database) { throw altered(difference) }
        return false
    }

    /// Whether the database has no tables, or only an empty `grdb_migrations`. Version 1 created this table first, so a
    /// database without other tables is the result of an interrupted creation.
    private static func isEmpty(_ database: DatabaseConnection) throws -> Bool {
        let entries = try database.schemaEntries()
        guard !entries.isEmpty else { return true }
        return try Set(entries) == LogSchema.migratorEntries
            && database.integer("SELECT EXISTS (SELECT 1 FROM grdb_migrations)") == 0
    }

    static func altered(_ difference: String) -> StoreError {
        StoreError(.damaged, "its schema is not that of a log, so that its statements can't be trusted: \(difference)")
    }

    static func newer(_ path: String, version: Int64) -> StoreError {
        StoreError(
            .otherSchema,
            "the database '\(path)' was written by a newer notifyd (schema \(version), this one supports "
                + "\(Self.version)); run that version or use another path")
    }

    static func foreign(_ path: String) -> StoreError {
        StoreError(
            .foreignDatabase,
            "the file '\(path)' is another program's database; it was not changed; choose another path")
    }
}
