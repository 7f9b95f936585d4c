import NIOCore
import NotifySystem
import NotifyWire

extension Migrations {
    /// Gives each segment its own bounds, its size and its entries for each name and user. The usage of users follows
    /// from the entries. Adds checksums to all rows, the next id of a name, the log's time and its epoch, and the log's
    /// time at which each subscription was attached last. Adds the settings of subscriptions, and copies of messages
    /// that they receive again.
    ///
    /// Messages stored before count as stored at the time of the migration.
    @Sendable
    static func boundSegments(_ database: DatabaseConnection) throws {
        try database.execute(
            """
            DROP TABLE usage;
            DROP TABLE segments;
            CREATE TABLE segments (
                first INTEGER PRIMARY KEY,
                last INTEGER NOT NULL,
                messages INTEGER NOT NULL,
                bytes INTEGER NOT NULL,
                earliest INTEGER NOT NULL,
                latest INTEGER NOT NULL,
                closed INTEGER NOT NULL,
                entries BLOB NOT NULL,
                crc INTEGER NOT NULL
            ) STRICT;
            ALTER TABLE names RENAME TO names_3;
            CREATE TABLE names (
                id INTEGER PRIMARY KEY,
                name TEXT NOT NULL UNIQUE,
                crc INTEGER NOT NULL
            ) STRICT;
            ALTER TABLE messages RENAME TO messages_3;
            CREATE TABLE messages (
                sequence INTEGER PRIMARY KEY,
                key INTEGER NOT NULL,
                checksums INTEGER NOT NULL,
                time INTEGER NOT NULL,
                process INTEGER NOT NULL,
                object TEXT,
                id TEXT,
                headers BLOB,
                payload BLOB
            ) STRICT;
            CREATE TABLE losses (
                subscription INTEGER PRIMARY KEY,
                first INTEGER NOT NULL,
                last INTEGER NOT NULL,
                count INTEGER NOT NULL,
                is_upper_bound INTEGER NOT NULL,
                crc INTEGER NOT NULL
            ) STRICT;
            ALTER TABLE subscriptions ADD COLUMN used INTEGER NOT NULL DEFAULT 0;
            UPDATE subscriptions SET used = CAST(strftime('%s', 'now') AS INTEGER) * 1000000;
            ALTER TABLE subscriptions ADD COLUMN created INTEGER NOT NULL DEFAULT 0;
            ALTER TABLE subscriptions ADD COLUMN attached_at INTEGER NOT NULL DEFAULT 0;
            ALTER TABLE subscriptions ADD COLUMN attached_pid INTEGER NOT NULL DEFAULT 0;
            ALTER TABLE subscriptions ADD COLUMN settings TEXT NOT NULL DEFAULT '0 0 0 0 1000000 10000000 60000000';
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
                frame BLOB NOT NULL,
                UNIQUE (subscription, sequence)
            ) STRICT;
            ALTER TABLE subscriptions ADD COLUMN crc INTEGER NOT NULL DEFAULT 0;
            ALTER TABLE subscriptions ADD COLUMN owner_crc INTEGER NOT NULL DEFAULT 0;
            ALTER TABLE subscriptions ADD COLUMN progress_crc INTEGER NOT NULL DEFAULT 0;
            ALTER TABLE state ADD COLUMN next_name INTEGER NOT NULL DEFAULT 1;
            ALTER TABLE state ADD COLUMN log_time INTEGER NOT NULL DEFAULT 0;
            ALTER TABLE state ADD COLUMN since_boot INTEGER NOT NULL DEFAULT 0;
            ALTER TABLE state ADD COLUMN wall_time INTEGER NOT NULL DEFAULT 0;
            ALTER TABLE state ADD COLUMN boot_id TEXT NOT NULL DEFAULT '';
            ALTER TABLE state ADD COLUMN epoch INTEGER NOT NULL DEFAULT 0;
            UPDATE state SET epoch = random();
            ALTER TABLE state ADD COLUMN crc INTEGER NOT NULL DEFAULT 0;
            """)
        try copyNames(database)
        try copyMessages(database)
        try database.execute("DROP TABLE names_3; DROP TABLE messages_3;")
        try addSubscriptionChecksums(database)
        let state = try PreparedStatement(
            database,
            """
            SELECT reserved_through, next_sequence, next_subscription, clean, flushes, log_id, next_name, log_time,
                since_boot, wall_time, boot_id, epoch, crc, 0 FROM state
            """)
        guard try state.step() else { throw StoreError(.damaged, "the row of the log's state is missing") }
        let row = StateRow(unchecked: state)
        state.reset()
        let update = try PreparedStatement(database, "UPDATE state SET crc = ?")
        try update.bind(1, row.checksum)
        try update.run()
    }

    private static func addSubscriptionChecksums(_ database: DatabaseConnection) throws {
        let rows = try PreparedStatement(
            database,
            """
            SELECT id, uid, started_after, name, patterns, object, gid, groups, cursor, seen_through, generation,
                attached, used, acknowledged FROM subscriptions ORDER BY id
            """)
        let update = try PreparedStatement(
            database, "UPDATE subscriptions SET crc = ?, owner_crc = ?, progress_crc = ? WHERE id = ?")
        while try rows.step() {
            let id = rows.integer(0)
            let definition = SubscriptionChecksums.ofDefinition(
                id: id, uid: rows.integer(1), startedAfter: rows.integer(2), created: 0, name: rows.text(3),
                patterns: rows.text(4), object: rows.text(5), settings: "0 0 0 0 1000000 10000000 60000000")
            let owner = SubscriptionChecksums.ofOwner(
                id: id, gid: rows.integer(6), groups: rows.text(7), attached: 0, pid: 0)
            let progress = SubscriptionChecksums.ofProgress(
                id: id, cursor: rows.integer(8), seenThrough: rows.integer(9), generation: rows.integer(10),
                isAttached: rows.integer(11), used: rows.integer(12), acknowledged: rows.bytes(13))
            for (index, value) in [(1, definition), (2, owner), (3, progress)] { try update.bind(Int32(index), value) }
            try update.bind(4, id)
            try update.run()
        }
    }

    private static func copyNames(_ database: DatabaseConnection) throws {
        let rows = try PreparedStatement(database, "SELECT id, name FROM names_3")
        let insert = try PreparedStatement(database, "INSERT INTO names VALUES (?, ?, ?)")
        while try rows.step() {
            let (id, name) = (rows.integer32(0), rows.bytes(1))
            try insert.bind(1, id)
            try insert.bindText(2, name)
            try insert.bind(3, NameRow.checksum(id: id, name))
            try insert.run()
        }
    }

    /// Copies the messages with their checksums, and writes the segments to which they now belong. The last messages,
    /// which do not fill a segment, stay in the open segment.
    private static func copyMessages(_ database: DatabaseConnection) throws {
        let rows = try PreparedStatement(
            database,
            """
            SELECT sequence, name, time, uid, gid, pid, object, id, headers, payload,
                (SELECT names.name FROM names WHERE names.id = messages_3.name)
            FROM messages_3 ORDER BY sequence
            """)
        let insert = try PreparedStatement(
            database,
            """
            INSERT INTO messages
            SELECT ?1, ?2, ?3, time, ?4, object, id, headers, payload FROM messages_3 WHERE sequence = ?1
            """)
        let insertSegment = try PreparedStatement(database, "INSERT INTO segments VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)")
        // The log's time begins as the wall-clock time.
        let now = Duration.seconds(try database.integer("SELECT CAST(strftime('%s', 'now') AS INTEGER)"))
        var segment = Segment()
        var entries: [SegmentEntry.Key: SegmentEntry] = [:]
        var frame = ByteBuffer()
        while try rows.step() {
            let stamp = Stamp(
                sequence: rows.integer(0), timeMicroseconds: rows.integer(2), uid: rows.integer32(3),
                gid: rows.integer32(4), pid: rows.integer32(5))
            let parts = MessageParts(
                name: rows.bytes(10), object: rows.bytes(6), messageID: rows.bytes(7), headers: rows.bytes(8),
                payload: rows.bytes(9))
            frame.clear()
            let bytes = Delivery.append(stamp, parts, to: &frame)
            let key = SegmentEntry.Key(name: rows.integer32(1), uid: stamp.uid)
            let checksums = frame.withUnsafeReadableBytes {
                MessageRow.checksums(
                    stamp.sequence, key, object: parts.object, body: $0.slice(from: FrameHeader.size))
            }
            try insert.bind(1, stamp.sequence)
            try insert.bind(2, key.column)
            try insert.bind(3, checksums)
            try insert.bind(4, MessageRow.process(of: stamp))
            try insert.run()
            if segment.messages == 4096 || (segment.messages > 0 && segment.bytes + bytes > 1 << 20) {
                try close(segment, Array(entries.values), at: now, insertSegment)
                segment = Segment()
                entries = [:]
            }
            segment.add(stamp.sequence, time: stamp.timeMicroseconds, bytes: bytes)
            entries[key, default: SegmentEntry(name: key.name, uid: key.uid, messages: 0, bytes: 0)].messages += 1
            entries[key]?.bytes += UInt64(bytes)
        }
    }

    private static func close(
        _ segment: Segment, _ entries: [SegmentEntry], at now: Duration, _ insert: PreparedStatement
    ) throws {
        let row = SegmentRow(segment: segment, closed: now, entries: SegmentEncoding.encode(entries))
        try row.write(with: insert)
    }
}
