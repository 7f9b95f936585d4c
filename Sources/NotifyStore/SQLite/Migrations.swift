/// The steps that migrate a database from one version of the schema to the next.
///
/// A released step must never change, nor use anything that may change, such as a constant or an encoding: existing
/// databases have already run the step. A new version needs one more step and a test of that step. New databases run
/// all steps, too.
enum Migrations {
    typealias Step = @Sendable (DatabaseConnection) throws -> Void

    /// The step at index n migrates from version n to version n + 1.
    static let steps: [Step] = [
        createTables, keepGenerationAndIdentity, keepUsageAndStart, boundSegments, keepEarlierOwners, describeCopies,
        keepDeletions, keepValues, keepValueChanges,
    ]

    /// Runs the steps that the database lacks, in one transaction. If one fails, the database is unchanged.
    static func run(_ steps: [Step] = steps, on database: DatabaseConnection) throws {
        let version = Int(try database.integer("PRAGMA user_version"))
        guard version < steps.count else { return }
        try TransactionStatements(database).run {
            for step in steps[version...] { try step(database) }
            try database.execute("PRAGMA user_version = \(steps.count)")
        }
    }

    /// Creates the tables of version 1. `messages` has no index except its key, because an index by name would make
    /// appending fifteen times slower. `segments` has a row for each closed segment, with the number of messages and
    /// the ids of their names.
    @Sendable
    private static func createTables(_ database: DatabaseConnection) throws {
        try database.execute(
            """
            PRAGMA application_id = 0x6E746664;
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
            """)
    }

    /// Adds to each subscription the generation of its cursor, and the gid and groups of the client that attached last.
    /// Until the next attachment, the gid is unknown and set to (gid_t)-1, which no process has. Adds the random id of
    /// the log.
    ///
    /// The first databases of version 1 lack `flushes`, and have the table `grdb_migrations` of an earlier migrator.
    @Sendable
    private static func keepGenerationAndIdentity(_ database: DatabaseConnection) throws {
        try database.execute(
            """
            ALTER TABLE subscriptions RENAME TO subscriptions_1;
            CREATE TABLE subscriptions (
                id INTEGER PRIMARY KEY,
                uid INTEGER NOT NULL,
                gid INTEGER NOT NULL,
                groups TEXT NOT NULL,
                name TEXT NOT NULL,
                patterns TEXT NOT NULL,
                object TEXT,
                generation INTEGER NOT NULL,
                cursor INTEGER NOT NULL,
                seen_through INTEGER NOT NULL,
                acknowledged BLOB NOT NULL,
                attached INTEGER NOT NULL,
                UNIQUE (uid, name)
            ) STRICT;
            INSERT INTO subscriptions
                SELECT id, uid, 4294967295, '', name, patterns, object, 0, cursor, seen_through, acknowledged, attached
                FROM subscriptions_1;
            DROP TABLE subscriptions_1;

            ALTER TABLE state RENAME TO state_1;
            CREATE TABLE state (
                id INTEGER PRIMARY KEY CHECK (id = 1),
                reserved_through INTEGER NOT NULL,
                next_sequence INTEGER NOT NULL,
                next_subscription INTEGER NOT NULL,
                clean INTEGER NOT NULL,
                flushes INTEGER NOT NULL,
                log_id BLOB NOT NULL
            ) STRICT;
            INSERT INTO state
                SELECT id, reserved_through, next_sequence, next_subscription, clean, 0, randomblob(16) FROM state_1;
            DROP TABLE state_1;

            DROP TABLE IF EXISTS grdb_migrations;
            """)
    }

    /// Adds the usage of each user: the number and the size of its messages in closed segments. The size of a message
    /// is 44 bytes and the lengths of its name, object, id, headers and payload. Adds to each subscription the sequence
    /// after which it began. For existing subscriptions this sequence is unknown, and set to 0.
    @Sendable
    private static func keepUsageAndStart(_ database: DatabaseConnection) throws {
        try database.execute(
            """
            CREATE TABLE usage (
                uid INTEGER PRIMARY KEY,
                messages INTEGER NOT NULL,
                bytes INTEGER NOT NULL
            ) STRICT;
            INSERT INTO usage
                SELECT messages.uid, count(*), sum(
                    44 + length(CAST(names.name AS BLOB))
                    + coalesce(length(CAST(messages.object AS BLOB)), 0)
                    + coalesce(length(CAST(messages.id AS BLOB)), 0)
                    + coalesce(length(messages.headers), 0) + coalesce(length(messages.payload), 0))
                FROM messages JOIN names ON names.id = messages.name
                WHERE messages.sequence < (SELECT coalesce(max(segment) + 1, 0) << 12 FROM segments)
                GROUP BY messages.uid;
            ALTER TABLE subscriptions ADD COLUMN started_after INTEGER NOT NULL DEFAULT 0;
            """)
    }

    /// Adds to each subscription the identities that attached before the latest one. For existing subscriptions they
    /// are unknown.
    @Sendable
    private static func keepEarlierOwners(_ database: DatabaseConnection) throws {
        try database.execute("ALTER TABLE subscriptions ADD COLUMN earlier_owners TEXT NOT NULL DEFAULT ''")
    }

    /// Adds the table of the deletions of messages. Earlier deletions are unknown.
    @Sendable
    private static func keepDeletions(_ database: DatabaseConnection) throws {
        try database.execute(
            """
            CREATE TABLE deletions (
                mark INTEGER PRIMARY KEY,
                parts BLOB NOT NULL,
                crc INTEGER NOT NULL
            ) STRICT;
            """)
    }
}
