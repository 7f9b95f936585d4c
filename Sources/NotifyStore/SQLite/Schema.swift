import GRDB

/// The tables of the log, and what tells a log of ours from other databases.
///
/// A released migration never changes; a new one is added after it, and `version` rises with it.
enum Schema {
    /// "ntfd", in the database's header.
    static let applicationID: Int32 = 0x6E74_6664
    static let version = 1
    static let pageSize = 4096

    /// Opens the connection, refuses what is not ours, and brings an older log up to this version.
    static func open(_ path: String) throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.label = "notifyd.log"
        configuration.foreignKeysEnabled = false
        // Checked at the start of every use, rather than trapped on at its end.
        configuration.allowsUnsafeTransactions = true
        configuration.prepareDatabase { database in
            // Before the first read: the index of the write-ahead log is then kept in memory, not in a shared file.
            try database.execute(sql: "PRAGMA locking_mode = EXCLUSIVE")
        }
        let database = try DatabaseQueue(path: path, configuration: configuration)
        try database.inDatabase { connection in
            try check(connection, path: path)
            try setUp(connection)
        }
        try migrator.migrate(database)
        return database
    }

    private static func setUp(_ connection: Database) throws {
        try connection.execute(sql: "PRAGMA page_size = \(pageSize)")
        guard try String.fetchOne(connection, sql: "PRAGMA journal_mode = WAL") == "wal" else {
            throw StoreError(.inputOutput, "SQLite can't keep a write-ahead log here; use a local file system")
        }
        // A write-ahead log that has grown for a large batch is cut back when it starts over.
        try connection.execute(sql: "PRAGMA journal_size_limit = \(64 * 1024 * 1024); PRAGMA synchronous = FULL")
    }

    /// Refuses what this version must not write to. Changes nothing.
    static func check(_ database: Database, path: String) throws {
        let applicationID = try Int32.fetchOne(database, sql: "PRAGMA application_id") ?? 0
        let isEmpty = try Bool.fetchOne(database, sql: "SELECT NOT EXISTS (SELECT 1 FROM sqlite_schema)") ?? false
        guard applicationID == Self.applicationID || (applicationID == 0 && isEmpty) else { throw foreign(path) }
        let version = try Int.fetchOne(database, sql: "PRAGMA user_version") ?? 0
        guard try version <= Self.version && !migrator.hasBeenSuperseded(database) else {
            throw StoreError(
                .newerSchema,
                "the database '\(path)' was written by a newer notifyd (schema \(version), this one knows "
                    + "\(Self.version)); run that version or use another path")
        }
    }

    static func foreign(_ path: String) -> StoreError {
        StoreError(
            .foreignDatabase,
            "the file '\(path)' is another program's database; it was left as it is, choose another path")
    }

    static let migrator: DatabaseMigrator = {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("1") { database in
            try database.execute(sql: tables)
            try database.execute(sql: "PRAGMA application_id = \(applicationID); PRAGMA user_version = 1")
        }
        return migrator
    }()

    /// `messages` has no index beside its key: one by name would make appending fifteen times slower. `segments` has,
    /// for every closed stretch of sequences, how many messages are stored in it and the ids of their names.
    private static let tables = """
        CREATE TABLE names (
            id INTEGER PRIMARY KEY,
            name TEXT NOT NULL UNIQUE
        ) STRICT;
        CREATE TABLE messages (
            sequence INTEGER PRIMARY KEY,
            name INTEGER NOT NULL,
            time INTEGER NOT NULL,
            uid INTEGER NOT NULL,
            gid INTEGER NOT NULL,
            pid INTEGER NOT NULL,
            object TEXT,
            id TEXT,
            headers BLOB,
            payload BLOB
        ) STRICT;
        CREATE TABLE segments (
            segment INTEGER PRIMARY KEY,
            messages INTEGER NOT NULL,
            names BLOB NOT NULL
        ) STRICT;
        CREATE TABLE subscriptions (
            id INTEGER PRIMARY KEY,
            uid INTEGER NOT NULL,
            name TEXT NOT NULL,
            patterns TEXT NOT NULL,
            object TEXT,
            cursor INTEGER NOT NULL,
            seen_through INTEGER NOT NULL,
            acknowledged BLOB NOT NULL,
            attached INTEGER NOT NULL,
            UNIQUE (uid, name)
        ) STRICT;
        CREATE TABLE state (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            reserved_through INTEGER NOT NULL,
            next_sequence INTEGER NOT NULL,
            next_subscription INTEGER NOT NULL,
            clean INTEGER NOT NULL,
            flushes INTEGER NOT NULL
        ) STRICT;
        INSERT INTO state VALUES (1, 1, 1, 1, 1, 0);
        """
}
