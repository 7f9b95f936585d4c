/// Databases of earlier versions of the schema, in literal SQL. The SQL must not be changed once it has been committed.
enum OldSchema: String, CaseIterable, Sendable {
    /// The first form of version 1, without the number of flushes.
    case version1WithoutFlushes
    case version1
    case version2
    case version3
    case version4
    case version5
    case version6
    case version7
    case version8

    /// Whether the rows have checksums, so that changing a row with SQL damages the log.
    var hasChecksums: Bool { [.version4, .version5, .version6, .version7, .version8].contains(self) }

    /// Whether the log has values.
    var hasValues: Bool { self == .version8 }

    /// A log that was closed cleanly with the next sequence 9000. It contains three subscriptions, and three messages
    /// with sequences up to 8193. Up to version 3, the messages are in three segments, of which two are closed; later,
    /// all are in the open segment. The subscription id 1 is no longer used. A log of version 8 has values.
    var sql: String {
        switch self {
        case .version1WithoutFlushes: Self.version1Tables(flushes: "", value: "") + Self.version1Rows
        case .version1:
            Self.version1Tables(flushes: ", flushes INTEGER NOT NULL", value: ", 17") + Self.version1Rows
        case .version2: Self.version2Tables + Self.rows + Self.version2Subscriptions
        case .version3: Self.version3Tables + Self.rows + Self.version3Subscriptions + Self.version3Usage
        case .version4: Self.version4Tables + "\n" + Self.version4Rows
        case .version5: Self.version4Tables + "\n" + Self.version4Rows + "\n" + Self.version5Change
        case .version6:
            [Self.version4Tables, Self.version4Rows, Self.version5Change, Self.version6Change].joined(separator: "\n")
        case .version7:
            [
                Self.version4Tables, Self.version4Rows, Self.version5Change, Self.version6Change, Self.version7Change,
            ].joined(separator: "\n")
        case .version8:
            [
                Self.version4Tables, Self.version4Rows, Self.version5Change, Self.version6Change, Self.version7Change,
                Self.version8Change, Self.version8Rows,
            ].joined(separator: "\n")
        }
    }

    private static func version1Tables(flushes: String, value: String) -> String {
        """
        PRAGMA page_size = 4096;
        PRAGMA journal_mode = WAL;
        CREATE TABLE grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY);
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
            clean INTEGER NOT NULL\(flushes)
        ) STRICT;
        INSERT INTO state VALUES (1, 16777217, 9000, 5, 1\(value));
        INSERT INTO grdb_migrations VALUES ('1');
        PRAGMA application_id = 1853122148;
        PRAGMA user_version = 1;
        """
    }

    private static let version2Tables = """
        PRAGMA page_size = 4096;
        PRAGMA journal_mode = WAL;
        PRAGMA application_id = 1853122148;
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
        CREATE TABLE state (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            reserved_through INTEGER NOT NULL,
            next_sequence INTEGER NOT NULL,
            next_subscription INTEGER NOT NULL,
            clean INTEGER NOT NULL,
            flushes INTEGER NOT NULL,
            log_id BLOB NOT NULL
        ) STRICT;
        INSERT INTO state VALUES (1, 16777217, 9000, 5, 1, 17, x'000102030405060708090A0B0C0D0E0F');
        PRAGMA user_version = 2;
        """

    private static let version3Tables = """
        PRAGMA page_size = 4096;
        PRAGMA journal_mode = WAL;
        PRAGMA application_id = 1853122148;
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
        ALTER TABLE subscriptions ADD COLUMN started_after INTEGER NOT NULL DEFAULT 0;
        CREATE TABLE usage (
            uid INTEGER PRIMARY KEY,
            messages INTEGER NOT NULL,
            bytes INTEGER NOT NULL
        ) STRICT;
        CREATE TABLE state (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            reserved_through INTEGER NOT NULL,
            next_sequence INTEGER NOT NULL,
            next_subscription INTEGER NOT NULL,
            clean INTEGER NOT NULL,
            flushes INTEGER NOT NULL,
            log_id BLOB NOT NULL
        ) STRICT;
        INSERT INTO state VALUES (1, 16777217, 9000, 5, 1, 17, x'000102030405060708090A0B0C0D0E0F');
        PRAGMA user_version = 3;
        """

    /// The acknowledged ranges of "busy" are 12 to 12 and 20 to 29. Each is encoded as the distance from the end of the
    /// range before it, and its length minus one.
    private static let version2Subscriptions = """
        INSERT INTO subscriptions VALUES
            (2, 1000, 4294967295, '', 'plain', 'a.* b.>', NULL, 0, 5, 7, x'', 0),
            (3, 0, 4294967295, '', 'busy', 'x', 'één', 0, 10, 1125899906842624, x'0C000809', 1),
            (4, 1000, 4294967295, '', 'busy', '>', NULL, 0, 8193, 8193, x'', 0);
        """

    private static let version3Subscriptions = """
        INSERT INTO subscriptions VALUES
            (2, 1000, 4294967295, '', 'plain', 'a.* b.>', NULL, 0, 5, 7, x'', 0, 0),
            (3, 0, 4294967295, '', 'busy', 'x', 'één', 0, 10, 1125899906842624, x'0C000809', 1, 0),
            (4, 1000, 4294967295, '', 'busy', '>', NULL, 0, 8193, 8193, x'', 0, 0);
        """

    /// The usage of the messages in closed segments.
    private static let version3Usage = "INSERT INTO usage VALUES (1000, 1, 58), (0, 1, 64);"

    /// The rows have checksums.
    private static let version4Tables = """
        PRAGMA page_size = 4096;
        PRAGMA journal_mode = WAL;
        PRAGMA application_id = 1853122148;
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
            attached INTEGER NOT NULL, started_after INTEGER NOT NULL DEFAULT 0, used INTEGER NOT NULL DEFAULT 0, \
        created INTEGER NOT NULL DEFAULT 0, attached_at INTEGER NOT NULL DEFAULT 0, attached_pid INTEGER NOT NULL \
        DEFAULT 0, settings TEXT NOT NULL DEFAULT '0 0 0 0 1000000 10000000 60000000', crc INTEGER NOT NULL \
        DEFAULT 0, owner_crc INTEGER NOT NULL DEFAULT 0, progress_crc INTEGER NOT NULL DEFAULT 0,
            UNIQUE (uid, name)
        ) STRICT;
        CREATE TABLE state (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            reserved_through INTEGER NOT NULL,
            next_sequence INTEGER NOT NULL,
            next_subscription INTEGER NOT NULL,
            clean INTEGER NOT NULL,
            flushes INTEGER NOT NULL,
            log_id BLOB NOT NULL
        , next_name INTEGER NOT NULL DEFAULT 1, log_time INTEGER NOT NULL DEFAULT 0, since_boot INTEGER NOT NULL \
        DEFAULT 0, wall_time INTEGER NOT NULL DEFAULT 0, boot_id TEXT NOT NULL DEFAULT '', epoch INTEGER NOT NULL \
        DEFAULT 0, crc INTEGER NOT NULL DEFAULT 0) STRICT;
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
        CREATE TABLE names (
            id INTEGER PRIMARY KEY,
            name TEXT NOT NULL UNIQUE,
            crc INTEGER NOT NULL
        ) STRICT;
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
        PRAGMA user_version = 4;
        """

    private static let version4Rows = """
        INSERT INTO subscriptions VALUES (2, 1000, 4294967295, '', 'plain', 'a.* b.>', NULL, 0, 5, 7, x'', 0, 0, \
        1795631867000000, 0, 0, 0, '0 0 0 0 1000000 10000000 60000000', 429660162, 2455577135, 1116190933);
        INSERT INTO subscriptions VALUES (3, 0, 4294967295, '', 'busy', 'x', 'één', 0, 10, 1125899906842624, \
        x'0C000809', 1, 0, 1795631867000000, 0, 0, 0, '0 0 0 0 1000000 10000000 60000000', 291347406, 1335703300, \
        3928650581);
        INSERT INTO subscriptions VALUES (4, 1000, 4294967295, '', 'busy', '>', NULL, 0, 8193, 8193, x'', 0, 0, \
        1795631867000000, 0, 0, 0, '0 0 0 0 1000000 10000000 60000000', 2869502548, 1426436407, 2098189859);
        INSERT INTO state VALUES (1, 16777217, 9000, 5, 1, 17, x'000102030405060708090A0B0C0D0E0F', 1, 0, 0, 0, \
        '', -5224287231192308966, 1453907274);
        INSERT INTO names VALUES (1, 'orders.created', 3713141225);
        INSERT INTO names VALUES (2, 'état', 1978762600);
        INSERT INTO messages VALUES (1, 4294968296, -5474559785914341599, 1700000000000000, 429496733842, NULL, \
        NULL, NULL, NULL);
        INSERT INTO messages VALUES (4096, 8589934592, -4148916814877406216, 1700000000000001, -4294967296, \
        'objekt', 'id-1', x'0100FF', x'00FF');
        INSERT INTO messages VALUES (8193, 4294968296, 9010498396532877070, 1700000000000002, 429496733842, NULL, \
        NULL, NULL, x'68656C6C6F');
        """

    private static let version5Change = """
        ALTER TABLE subscriptions ADD COLUMN earlier_owners TEXT NOT NULL DEFAULT '';
        PRAGMA user_version = 5;
        """

    private static let version6Change = """
        DROP TABLE redeliveries;
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
        PRAGMA user_version = 6;
        """

    private static let version7Change = """
        CREATE TABLE deletions (
            mark INTEGER PRIMARY KEY,
            parts BLOB NOT NULL,
            crc INTEGER NOT NULL
        ) STRICT;
        PRAGMA user_version = 7;
        """

    private static let version8Change = """
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
        PRAGMA user_version = 8;
        """

    /// A value, a value with an object, and the mark of a cleared one, which have no messages in the log any more.
    private static let version8Rows = """
        INSERT INTO retained VALUES (1, 4000, -1108650639159193914, 0, 1700000000000000, 1000, \
        429496733842, 'orders.created', NULL, NULL, x'00FF');
        INSERT INTO retained VALUES (2, 4500, 7065064930305617077, 0, 1700000000000001, 0, -4294967296, \
        'état', 'objekt', x'0100FF', x'07');
        INSERT INTO retained VALUES (3, 8000, 2929623717480982386, 1, 1700000000000000, 1000, \
        429496733842, 'gone', NULL, x'0F07006E6F74696679642D636C6561726564636C6561726564', NULL);
        """

    private static let version1Rows =
        rows + """
            INSERT INTO subscriptions VALUES
                (2, 1000, 'plain', 'a.* b.>', NULL, 5, 7, x'', 0),
                (3, 0, 'busy', 'x', 'één', 10, 1125899906842624, x'0C000809', 1),
                (4, 1000, 'busy', '>', NULL, 8193, 8193, x'', 0);
            """

    private static let rows = """
        INSERT INTO names VALUES (1, 'orders.created'), (2, 'état');
        INSERT INTO messages VALUES
            (1, 1, 1700000000000000, 1000, 100, 4242, NULL, NULL, NULL, NULL),
            (4096, 2, 1700000000000001, 0, 4294967295, 0, 'objekt', 'id-1', x'0100FF', x'00FF'),
            (8193, 1, 1700000000000002, 1000, 100, 4242, NULL, NULL, NULL, x'68656C6C6F');
        INSERT INTO segments VALUES (0, 1, x'01'), (1, 1, x'02');
        """
}
