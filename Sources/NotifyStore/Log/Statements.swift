import NotifyLog

/// The prepared statements that run often.
final class Statements {
    let transaction: TransactionStatements
    let writeState: PreparedStatement
    let messages: MessageStatements
    let names: NameStatements
    let segments: SegmentStatements
    let subscriptions: SubscriptionStatements
    let losses: LossStatements
    let redeliveries: RedeliveryStatements
    let deletions: DeletionStatements
    let values: ValueStatements

    init(_ connection: DatabaseConnection) throws(SQLiteFailure) {
        transaction = try TransactionStatements(connection)
        writeState = try PreparedStatement(connection, StateRow.update)
        messages = try MessageStatements(connection)
        names = try NameStatements(connection)
        segments = try SegmentStatements(connection)
        subscriptions = try SubscriptionStatements(connection)
        losses = try LossStatements(connection)
        redeliveries = try RedeliveryStatements(connection)
        deletions = try DeletionStatements(connection)
        values = try ValueStatements(connection)
    }
}

/// Runs transactions.
struct TransactionStatements {
    private let connection: DatabaseConnection
    private let begin, commit, rollBack: PreparedStatement

    init(_ connection: DatabaseConnection) throws(SQLiteFailure) {
        self.connection = connection
        begin = try PreparedStatement(connection, "BEGIN IMMEDIATE")
        commit = try PreparedStatement(connection, "COMMIT")
        rollBack = try PreparedStatement(connection, "ROLLBACK")
    }

    /// Runs `body` in a transaction. On an error, the transaction is rolled back.
    func run(_ body: () throws -> Void) throws {
        try begin.run()
        do {
            try body()
            try commit.run()
        } catch {
            if connection.isInTransaction { try? rollBack.run() }
            throw error
        }
    }
}

/// Counts the pages of the database.
struct PageStatements {
    // Two statements, because one with a table-valued function takes twenty times as long.
    let count, countFree: PreparedStatement

    init(_ connection: DatabaseConnection) throws(SQLiteFailure) {
        count = try PreparedStatement(connection, "PRAGMA page_count")
        countFree = try PreparedStatement(connection, "PRAGMA freelist_count")
    }
}

struct MessageStatements {
    let insert, delete: PreparedStatement
    /// Move the messages of a segment to a temporary table and back.
    let take, returnTaken, forgetTaken: PreparedStatement
    /// Read the messages of a range of sequences: `keys` in any order, `…Down` descending, the others ascending.
    let keys, scan, scanDown, read, readDown: PreparedStatement
    /// Read the message of one sequence.
    let readOne, size: PreparedStatement

    init(_ connection: DatabaseConnection) throws(SQLiteFailure) {
        func prepare(_ sql: String) throws(SQLiteFailure) -> PreparedStatement {
            try PreparedStatement(connection, sql)
        }
        insert = try prepare("INSERT INTO messages VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)")
        delete = try prepare("DELETE FROM messages WHERE sequence BETWEEN ? AND ?")
        take = try prepare(
            "INSERT INTO temp.taken SELECT * FROM main.messages WHERE sequence BETWEEN ? AND ? ORDER BY sequence")
        returnTaken = try prepare("INSERT INTO main.messages SELECT * FROM temp.taken ORDER BY rowid")
        forgetTaken = try prepare("DELETE FROM temp.taken")
        keys = try prepare("SELECT \(MessageRow.keyColumns) FROM messages WHERE sequence BETWEEN ? AND ?")
        scan = try prepare(
            "SELECT \(MessageRow.keyColumns) FROM messages WHERE sequence BETWEEN ? AND ? ORDER BY sequence")
        scanDown = try prepare(
            "SELECT \(MessageRow.keyColumns) FROM messages WHERE sequence BETWEEN ? AND ? ORDER BY sequence DESC")
        read = try prepare(
            "SELECT \(MessageRow.columns) FROM messages WHERE sequence BETWEEN ? AND ? ORDER BY sequence")
        readDown = try prepare(
            "SELECT \(MessageRow.columns) FROM messages WHERE sequence BETWEEN ? AND ? ORDER BY sequence DESC")
        readOne = try prepare("SELECT \(MessageRow.columns) FROM messages WHERE sequence = ?")
        size = try prepare(
            "SELECT \(MessageRow.keyColumns), \(MessageRow.byteCount) FROM messages WHERE sequence = ?")
    }
}

struct NameStatements {
    let insert, remove: PreparedStatement

    init(_ connection: DatabaseConnection) throws(SQLiteFailure) {
        insert = try PreparedStatement(connection, "INSERT INTO names VALUES (?, ?, ?)")
        remove = try PreparedStatement(connection, "DELETE FROM names WHERE id = ?")
    }
}

struct SegmentStatements {
    let insert, delete: PreparedStatement
    /// `below` and `above` read the next segment that begins below or above a sequence. `from` reads all segments from
    /// the one that may contain a sequence.
    let below, above, from: PreparedStatement
    /// Reads the end of the segment that may contain a sequence, and the time at which it was closed.
    let closing: PreparedStatement

    init(_ connection: DatabaseConnection) throws(SQLiteFailure) {
        func prepare(_ sql: String) throws(SQLiteFailure) -> PreparedStatement {
            try PreparedStatement(connection, sql)
        }
        insert = try prepare("INSERT INTO segments VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)")
        delete = try prepare("DELETE FROM segments WHERE first = ?")
        below = try prepare("SELECT \(SegmentRow.columns) FROM segments WHERE first < ? ORDER BY first DESC LIMIT 1")
        above = try prepare("SELECT \(SegmentRow.columns) FROM segments WHERE first > ? ORDER BY first LIMIT 1")
        from = try prepare(
            """
            SELECT \(SegmentRow.columns) FROM segments
            WHERE first >= (SELECT coalesce(max(first), 0) FROM segments WHERE first <= ?) ORDER BY first
            """)
        closing = try prepare("SELECT last, closed FROM segments WHERE first <= ? ORDER BY first DESC LIMIT 1")
    }
}

struct SubscriptionStatements {
    let create, update, setOwner, replaceFilter, remove: PreparedStatement

    init(_ connection: DatabaseConnection) throws(SQLiteFailure) {
        func prepare(_ sql: String) throws(SQLiteFailure) -> PreparedStatement {
            try PreparedStatement(connection, sql)
        }
        create = try prepare(
            """
            INSERT INTO subscriptions (
                cursor, seen_through, acknowledged, generation, attached, progress_crc, used, id, uid, gid, groups,
                name, patterns, object, started_after, crc, owner_crc, created, attached_at, attached_pid, settings,
                earlier_owners)
            VALUES (?, ?, coalesce(?, x''), ?, ?, ?, ?, ?, ?, ?, coalesce(?, ''), ?, ?, ?, ?, ?, ?, ?, ?, ?, ?,
                coalesce(?, ''))
            """)
        update = try prepare(
            """
            UPDATE subscriptions
            SET cursor = ?, seen_through = ?, acknowledged = coalesce(?, x''), generation = ?, attached = ?,
                progress_crc = ?, used = ?
            WHERE id = ? AND generation <= ?4
            """)
        setOwner = try prepare(
            """
            UPDATE subscriptions
            SET gid = ?, groups = coalesce(?, ''), earlier_owners = coalesce(?, ''), attached_at = ?,
                attached_pid = ?, owner_crc = ?
            WHERE id = ?
            """)
        replaceFilter = try prepare(
            "UPDATE subscriptions SET patterns = ?, object = ?, started_after = ?, crc = ?, settings = ? WHERE id = ?")
        remove = try prepare("DELETE FROM subscriptions WHERE id = ?")
    }
}

struct DeletionStatements {
    let insert, forget: PreparedStatement

    init(_ connection: DatabaseConnection) throws(SQLiteFailure) {
        insert = try PreparedStatement(connection, DeletionRow.insert)
        forget = try PreparedStatement(connection, "DELETE FROM deletions WHERE mark <= ?")
    }
}

/// The copies of messages that subscriptions receive again.
struct RedeliveryStatements {
    let read, readOldest, insert, update: PreparedStatement
    /// Deletes the copy of one sequence for a subscription.
    let forget: PreparedStatement
    private let forgetAll: PreparedStatement
    /// Read copies in the order of their ids, and of their ages.
    let above, aged: PreparedStatement

    init(_ connection: DatabaseConnection) throws(SQLiteFailure) {
        func prepare(_ sql: String) throws(SQLiteFailure) -> PreparedStatement {
            try PreparedStatement(connection, sql)
        }
        read = try prepare(
            "SELECT \(RedeliveryRow.columns), frame FROM redeliveries WHERE subscription = ? AND sequence = ?")
        readOldest = try prepare(
            """
            SELECT \(RedeliveryRow.columns), frame FROM redeliveries WHERE subscription = ? ORDER BY sequence LIMIT 1
            """)
        insert = try prepare(
            """
            INSERT INTO redeliveries (
                failures, due, dead, reason, crc, subscription, sequence, frame_crc, kept, name, frame)
            SELECT ?, ?, ?, coalesce(?, ''), ?, ?6, ?, ?, ?, ?, ?
            WHERE EXISTS (SELECT 1 FROM subscriptions WHERE id = ?6)
            """)
        update = try prepare(
            """
            UPDATE redeliveries SET failures = ?, due = ?, dead = ?, reason = coalesce(?, ''), crc = ?
            WHERE subscription = ? AND sequence = ?
            """)
        forget = try prepare("DELETE FROM redeliveries WHERE subscription = ? AND sequence = ?")
        forgetAll = try prepare("DELETE FROM redeliveries WHERE subscription = ?")
        above = try prepare("SELECT \(RedeliveryRow.columns) FROM redeliveries WHERE id > ? ORDER BY id LIMIT ?")
        aged = try prepare(
            """
            SELECT \(RedeliveryRow.columns) FROM redeliveries
            WHERE (kept, id) > (?, ?) AND kept <= ? ORDER BY kept, id LIMIT ?
            """)
    }

    func forgetAll(of id: DurableID) throws(SQLiteFailure) {
        try forgetAll.bind(1, id.rawValue)
        try forgetAll.run()
    }
}
