import NotifyLog
import NotifyWire

/// An open log: the connection to its database, the statements that read and write it, and its state in memory.
final class Log {
    let connection: DatabaseConnection
    let path: String
    var options: StoreOptions {
        didSet { noteLimits() }
    }
    /// Whether history is deleted for a batch that has no room.
    var makesRoom = true
    /// Nil once the log is closed: SQLite closes the files only after every statement is finalized.
    var statements: Statements?

    var names = NameTable()
    var openSegment = OpenSegment()
    var matchCaches: [DurableID: FilterMatchCache] = [:]

    /// The identities of the open files, to detect that a file was moved away, replaced or truncated.
    var files: LogFiles
    let reserve: DiskReserve
    /// The damage found at the last check of the files.
    var damage: LogFiles.Damage?
    /// The refused batch that must still be removed from the database.
    var refusedBatch: RefusedBatch?
    /// Whether the database is marked as in use. A mark that is still there at the next start means that the daemon did
    /// not stop cleanly.
    var isMarkedInUse = true

    /// The row of the log's state, as in the database.
    var state = StateRow()
    /// The damage of the database's content that a request has found. Nothing is stored from then on.
    var corruption: StorageFailure?

    /// The time of the log.
    var clock: LogClock
    /// The log's time at which it was opened with its subscriptions, or at which the process continued after it had
    /// stood still: from then on, clients can use the subscriptions.
    var opened = Duration.zero
    /// The log's time at which the store last looked for work.
    var lastLook: Duration?

    var subscriptions = StoredSubscriptions()
    /// The rights of the owners of subscriptions; nil if they may receive every name.
    var policy: AccessPolicy?
    /// The bytes of the copies of each user's subscriptions.
    var copyBytes: [UInt32: Int] = [:]
    /// The pass of retention that is under way.
    var survey: RetentionSurvey?
    /// `subscriptions.creations` as the pass knows it.
    var surveyedCreations = 0
    /// When the next pass is due.
    var pace = RetentionPace()
    /// What was deleted and not yet reported; nil if nothing was. Commits seldom delete, so they need not handle an
    /// empty one.
    var unreportedDeletion: Deletion?
    /// What was deleted, for readers.
    var deletions = DeletionLog()
    /// What the batch that is being written deletes; nil if it deletes nothing.
    var batchDeletion: Deletion?
    /// The subscriptions that the batch has replaced, which counts as use.
    var replacedInBatch: Set<DurableID> = []
    /// The messages of which the current batch should have kept a copy, and that the log no longer contains.
    var missingCopies: [DurableID: [UInt64]] = [:]
    /// The reason why the last pass failed; nil if it did not.
    var retentionFailure: StorageFailure?

    /// The highest sequence committed.
    var persistedThrough: UInt64 = 0
    var statistics = StoreStatistics()
    /// The time at which the space of the file system was measured.
    var diskMeasured: ContinuousClock.Instant?
    /// A bound of the bytes by which the database has grown since then.
    var unmeasuredBytes: UInt64 = 0
    /// The sizes of the database and of the write-ahead log as reported between commits, and when.
    var reportedSizes: (database: UInt64, wal: UInt64) = (0, 0)
    var sizesReported: ContinuousClock.Instant?
    var readWork = ReadWork()
    var synchronous: Synchronous?
    var checkpoints: Checkpoints
    /// The bytes in used pages of the database, as last measured.
    var usedBytes: UInt64 = 0
    /// A bound of the bytes in used pages. The pages are counted only when the bound exceeds the log's limit, because
    /// that takes longer than storing a message. Nil until they are counted for the first time.
    var usedBytesBound: UInt64?
    /// The initial capacity of a page's buffer in bytes: the size of the last page.
    var pageCapacity = 4096

    init(connection: DatabaseConnection, path: String, options: StoreOptions) throws {
        clock = LogClock(options.clock)
        self.connection = connection
        self.path = path
        self.options = options
        files = try LogFiles(
            path: path, pageSize: UInt64(connection.integer("PRAGMA page_size")),
            pages: UInt64(connection.integer("PRAGMA page_count")))
        reserve = DiskReserve(beside: path, checkpointBytes: options.checkpointBytes)
        checkpoints = Checkpoints(connection: connection)
        // Holds the messages of a segment while they are moved.
        try connection.execute(
            "PRAGMA temp_store = MEMORY; CREATE TEMP TABLE taken AS SELECT * FROM messages LIMIT 0")
        statements = try Statements(connection)
        noteLimits()
    }

    private func noteLimits() {
        statistics.logByteLimit = options.retention.maximumBytes
        statistics.backlogLimit = options.retention.backlogBytes
        statistics.subscriptionExpiry = options.retention.subscriptionExpiry
        // The file of the write-ahead log stays as large as it was once, and is truncated to this size when it
        // restarts.
        try? connection.execute("PRAGMA journal_size_limit = \(walByteLimit)")
    }

    deinit {
        close()
    }

    func close() {
        statements = nil
        // Otherwise SQLite would run a checkpoint, and would remove any file that is at the path of the write-ahead
        // log.
        if damage != nil { connection.keepFilesOnClose() }
        connection.close()
    }

    /// SQLite's `synchronous` level: with `full`, a commit is flushed to disk before it returns.
    enum Synchronous: String {
        case normal = "NORMAL"
        case full = "FULL"
    }

    func openStatements() throws(StorageFailure) -> Statements {
        guard let statements else { throw StorageFailure(kind: .inputOutput, message: "the log is closed") }
        return statements
    }

    /// Converts an error within the log to the error that the caller gets.
    func failure(_ error: any Error) -> StorageFailure {
        let failure =
            switch error {
            case let failure as StorageFailure: failure
            case let failure as SQLiteFailure where failure.isFull: diskFull
            case let failure as SQLiteFailure: failure.storageFailure
            case let error as StoreError: error.storageFailure
            default: StorageFailure(kind: .inputOutput, message: String(describing: error))
            }
        return failure.kind == .damaged ? noteCorruption(failure) : failure
    }

    /// Makes later commits fail, unless the cause is that the files were moved, replaced or truncated.
    private func noteCorruption(_ failure: StorageFailure) -> StorageFailure {
        if let damage = findDamage() { return damage.storageFailure }
        let noted = corruption ?? StorageFailure(damaged: path, failure.message)
        corruption = noted
        return noted
    }
}

/// Counters of the work of reading pages. Tests use them to check that segments are skipped.
package struct ReadWork: Equatable, Sendable {
    package var rowsScanned: UInt64 = 0
    package var segmentsSkipped: UInt64 = 0
    package var namesMatched: UInt64 = 0
}

/// The statements of the message path, prepared once.
final class Statements {
    let begin, commit, rollBack: PreparedStatement
    let insertMessage, insertName, insertSegment: PreparedStatement
    let writeState: PreparedStatement
    let pageCount, freePages: PreparedStatement
    let createSubscription, updateSubscription, setOwner, replaceFilter, removeSubscription: PreparedStatement
    let readLoss, insertLoss, removeLoss: PreparedStatement
    let insertDeletion, forgetDeletions: PreparedStatement
    let deleteMessages, deleteSegment, removeName, messageKeys, segmentBelow, segmentAbove: PreparedStatement
    let takeMessages, returnMessages, forgetTaken: PreparedStatement
    let segmentsFrom, scanMessages, readMessages, readMessage: PreparedStatement
    let scanMessagesDown, readMessagesDown, messageSize: PreparedStatement
    let readRedelivery, readOldestRedelivery, insertRedelivery, updateRedelivery: PreparedStatement
    let forgetRedelivery, forgetRedeliveries, copiesAbove, agedCopies, segmentClosing: PreparedStatement

    init(_ connection: DatabaseConnection) throws(SQLiteFailure) {
        func prepare(_ sql: String) throws(SQLiteFailure) -> PreparedStatement {
            try PreparedStatement(connection, sql)
        }
        begin = try prepare("BEGIN IMMEDIATE")
        commit = try prepare("COMMIT")
        rollBack = try prepare("ROLLBACK")
        insertMessage = try prepare("INSERT INTO messages VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)")
        insertName = try prepare("INSERT INTO names VALUES (?, ?, ?)")
        insertSegment = try prepare("INSERT INTO segments VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)")
        writeState = try prepare(StateRow.update)
        // Not in one statement: a table-valued function takes twenty times as long.
        pageCount = try prepare("PRAGMA page_count")
        freePages = try prepare("PRAGMA freelist_count")
        createSubscription = try prepare(
            """
            INSERT INTO subscriptions (
                cursor, seen_through, acknowledged, generation, attached, progress_crc, used, id, uid, gid, groups,
                name, patterns, object, started_after, crc, owner_crc, created, attached_at, attached_pid, settings,
                earlier_owners)
            VALUES (?, ?, coalesce(?, x''), ?, ?, ?, ?, ?, ?, ?, coalesce(?, ''), ?, ?, ?, ?, ?, ?, ?, ?, ?, ?,
                coalesce(?, ''))
            """)
        updateSubscription = try prepare(
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
        removeSubscription = try prepare("DELETE FROM subscriptions WHERE id = ?")
        readLoss = try prepare("SELECT first, last, count, is_upper_bound, crc FROM losses WHERE subscription = ?")
        insertLoss = try prepare("INSERT OR REPLACE INTO losses VALUES (?, ?, ?, ?, ?, ?)")
        removeLoss = try prepare("DELETE FROM losses WHERE subscription = ?")
        insertDeletion = try prepare(DeletionRow.insert)
        forgetDeletions = try prepare("DELETE FROM deletions WHERE mark <= ?")
        deleteMessages = try prepare("DELETE FROM messages WHERE sequence BETWEEN ? AND ?")
        takeMessages = try prepare(
            "INSERT INTO temp.taken SELECT * FROM main.messages WHERE sequence BETWEEN ? AND ? ORDER BY sequence")
        returnMessages = try prepare("INSERT INTO main.messages SELECT * FROM temp.taken ORDER BY rowid")
        forgetTaken = try prepare("DELETE FROM temp.taken")
        deleteSegment = try prepare("DELETE FROM segments WHERE first = ?")
        removeName = try prepare("DELETE FROM names WHERE id = ?")
        messageKeys = try prepare("SELECT \(MessageRow.keyColumns) FROM messages WHERE sequence BETWEEN ? AND ?")
        segmentBelow = try prepare(
            "SELECT \(SegmentRow.columns) FROM segments WHERE first < ? ORDER BY first DESC LIMIT 1")
        segmentAbove = try prepare("SELECT \(SegmentRow.columns) FROM segments WHERE first > ? ORDER BY first LIMIT 1")
        segmentsFrom = try prepare(
            """
            SELECT \(SegmentRow.columns) FROM segments
            WHERE first >= (SELECT coalesce(max(first), 0) FROM segments WHERE first <= ?) ORDER BY first
            """)
        scanMessages = try prepare(
            "SELECT \(MessageRow.keyColumns) FROM messages WHERE sequence BETWEEN ? AND ? ORDER BY sequence")
        scanMessagesDown = try prepare(
            "SELECT \(MessageRow.keyColumns) FROM messages WHERE sequence BETWEEN ? AND ? ORDER BY sequence DESC")
        readMessages = try prepare(
            "SELECT \(MessageRow.columns) FROM messages WHERE sequence BETWEEN ? AND ? ORDER BY sequence")
        readMessagesDown = try prepare(
            "SELECT \(MessageRow.columns) FROM messages WHERE sequence BETWEEN ? AND ? ORDER BY sequence DESC")
        readMessage = try prepare("SELECT \(MessageRow.columns) FROM messages WHERE sequence = ?")
        messageSize = try prepare(
            "SELECT \(MessageRow.keyColumns), \(MessageRow.byteCount) FROM messages WHERE sequence = ?")
        readRedelivery = try prepare(
            "SELECT \(RedeliveryRow.columns), frame FROM redeliveries WHERE subscription = ? AND sequence = ?")
        readOldestRedelivery = try prepare(
            """
            SELECT \(RedeliveryRow.columns), frame FROM redeliveries WHERE subscription = ? ORDER BY sequence LIMIT 1
            """)
        insertRedelivery = try prepare(
            """
            INSERT INTO redeliveries (
                failures, due, dead, reason, crc, subscription, sequence, frame_crc, kept, name, frame)
            SELECT ?, ?, ?, coalesce(?, ''), ?, ?6, ?, ?, ?, ?, ?
            WHERE EXISTS (SELECT 1 FROM subscriptions WHERE id = ?6)
            """)
        updateRedelivery = try prepare(
            """
            UPDATE redeliveries SET failures = ?, due = ?, dead = ?, reason = coalesce(?, ''), crc = ?
            WHERE subscription = ? AND sequence = ?
            """)
        copiesAbove = try prepare("SELECT \(RedeliveryRow.columns) FROM redeliveries WHERE id > ? ORDER BY id LIMIT ?")
        agedCopies = try prepare(
            """
            SELECT \(RedeliveryRow.columns) FROM redeliveries
            WHERE (kept, id) > (?, ?) AND kept <= ? ORDER BY kept, id LIMIT ?
            """)
        segmentClosing = try prepare("SELECT last, closed FROM segments WHERE first <= ? ORDER BY first DESC LIMIT 1")
        forgetRedelivery = try prepare("DELETE FROM redeliveries WHERE subscription = ? AND sequence = ?")
        forgetRedeliveries = try prepare("DELETE FROM redeliveries WHERE subscription = ?")
    }
}
