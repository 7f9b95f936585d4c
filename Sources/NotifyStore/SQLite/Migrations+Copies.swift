import NotifyWire

extension Migrations {
    /// Adds two columns to each copy of a message: the message's name, and the log's time from which the age of the
    /// copy counts. For existing copies, this is the log's time that the table `state` has. The columns come before the
    /// frame, so that SQLite can read them without reading the frame.
    @Sendable
    static func describeCopies(_ database: DatabaseConnection) throws {
        try database.execute(
            """
            ALTER TABLE redeliveries RENAME TO redeliveries_4;
            CREATE TABLE redeliveries (
                id INTEGER PRIMARY KEY,
                subscription INTEGER NOT NULL,
                sequence INTEGER NOT NULL,
                failures INTEGER NOT NULL,
                due INTEGER NOT NULL,
                dead INTEGER NOT NULL,
                reason TEXT NOT NULL,
                frame_crc INTEGER NOT NULL,
                crc INTEGER NOT NULL,
                kept INTEGER NOT NULL,
                name TEXT NOT NULL,
                frame BLOB NOT NULL,
                UNIQUE (subscription, sequence)
            ) STRICT;
            CREATE INDEX redelivery_ages ON redeliveries (kept);
            """)
        try copyRedeliveries(database)
        try database.execute("DROP TABLE redeliveries_4;")
    }

    private static func copyRedeliveries(_ database: DatabaseConnection) throws {
        let now = try database.integer("SELECT log_time FROM state")
        let rows = try PreparedStatement(
            database,
            """
            SELECT id, subscription, sequence, failures, due, dead, reason, frame_crc, crc, frame FROM redeliveries_4
            ORDER BY id
            """)
        let insert = try PreparedStatement(
            database,
            """
            INSERT INTO redeliveries
            SELECT id, subscription, sequence, failures, due, dead, reason, frame_crc, ?, ?, coalesce(?, ''), frame
            FROM redeliveries_4 WHERE id = ?
            """)
        while try rows.step() {
            let frame = rows.bytes(9)
            var checksum = Checksum()
            for column: Int32 in 1...5 { checksum.add(rows.integer(column)) }
            checksum.add(UInt64(frame.count + 8))
            checksum.add(rows.integer(7))
            var before = checksum
            before.add(rows.text(6))
            checksum.add(UInt64(bitPattern: now))
            checksum.add(rows.text(6))
            let name = (try? Delivery(reading: frame))?.parts.name ?? UnsafeRawBufferPointer(start: nil, count: 0)
            checksum.add(name)
            // A damaged row gets a wrong checksum, so that its damage is still detected.
            let isSound = before.value == rows.integer32(8)
            try insert.bind(1, isSound ? checksum.value : ~checksum.value)
            try insert.bind(2, now)
            try insert.bindText(3, name)
            try insert.bind(4, rows.integer(0))
            try insert.run()
        }
    }
}
