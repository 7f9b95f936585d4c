extension Migrations {
    /// Adds the table of values, with a copy of each message that is one, and the highest sequence of a deleted mark of
    /// a cleared value. The payload is the last column, so that SQLite can read the others without reading it.
    @Sendable
    static func keepValues(_ database: DatabaseConnection) throws {
        try database.execute(
            """
            CREATE TABLE retained (
                number INTEGER PRIMARY KEY,
                sequence INTEGER NOT NULL UNIQUE,
                checksums INTEGER NOT NULL,
                cleared INTEGER NOT NULL,
                time INTEGER NOT NULL,
                uid INTEGER NOT NULL,
                process INTEGER NOT NULL,
                name TEXT NOT NULL,
                object TEXT,
                headers BLOB,
                payload BLOB
            ) STRICT;
            ALTER TABLE state ADD COLUMN forgotten_through INTEGER NOT NULL DEFAULT 0;
            """)
    }

    /// Adds the table of the changes of values that may not be in the rows of the values yet: a row for each batch with
    /// such changes.
    @Sendable
    static func keepValueChanges(_ database: DatabaseConnection) throws {
        try database.execute(
            """
            CREATE TABLE value_changes (
                batch INTEGER PRIMARY KEY,
                changes BLOB NOT NULL,
                crc INTEGER NOT NULL
            ) STRICT;
            """)
    }
}
