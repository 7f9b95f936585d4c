/// The steps that bring a database from one version of the schema to the next.
///
/// A step that has landed never changes, and uses nothing that may change, such as a constant or an encoding: databases
/// exist that it has made. Another version is one more step and its test; new databases go through all steps, too.
enum Migrations {
    typealias Step = @Sendable (DatabaseConnection) throws -> Void

    /// The step at index n makes version n + 1 of version n.
    static let steps: [Step] = [createTables, keepGenerationAndIdentity]

    /// Runs the steps that the database lacks. Where one fails, the database stays as it was before all of them.
    static func run(_ steps: [Step] = steps, on database: DatabaseConnection) throws {
        let version = Int(try database.integer("PRAGMA user_version"))
        guard version < steps.count else { return }
        try database.inTransaction {
            for step in steps[version...] { try step(database) }
            try database.execute("PRAGMA user_version = \(steps.count)")
        }
    }

    /// `messages` has no index beside its key: one by name would make appending fifteen times slower. `segments` has,
    /// for every closed stretch of sequences, how many messages are stored in it and the ids of their names.
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

    /// Subscriptions get the generation of their cursor, and the identity with which they were attached last: the group is
    /// unknown until the next attachment, for which (gid_t)-1 stands, which no process has. The log gets a random identity.
    ///
    /// The first databases of version 1 have no `flushes`. `grdb_migrations` listed the steps before `user_version` did.
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
}
