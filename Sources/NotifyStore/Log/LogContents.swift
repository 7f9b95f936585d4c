import NotifyLog
import NotifySystem
import NotifyWire

/// The contents of a log in memory: its names, the segment to which messages are added, and its last sequence.
struct LogContents: ~Copyable {
    private(set) var names = NameTable()
    private(set) var openSegment = OpenSegment()
    /// The highest sequence committed.
    private(set) var persistedThrough: UInt64 = 0
    /// The number of messages in the log.
    private(set) var messages: UInt64 = 0
    /// The next free name id when the batch began, for a rollback.
    private var nextName: UInt32 = 1

    // MARK: Batches

    mutating func begin() {
        openSegment.begin()
        nextName = names.nextID
    }

    /// - Parameters:
    ///   - last: The highest sequence of the batch, or of earlier batches if it has no messages.
    ///   - added: The number of messages of the batch.
    mutating func commit(through last: UInt64, messages added: UInt64) {
        openSegment.commit()
        persistedThrough = last
        messages += added
    }

    /// Restores the contents as they were before the batch.
    ///
    /// - Parameter keepsNames: Whether the names of the batch stay, because they are in the database.
    mutating func rollBack(keepingNames keepsNames: Bool = false) {
        if !keepsNames { names.rollBack(toNextID: nextName) }
        openSegment.rollBack(names)
    }

    /// Adds a message of the batch, with its row.
    ///
    /// - Parameters:
    ///   - body: The body of the message's frame.
    ///   - bytes: The size of the frame.
    ///   - now: The log's time.
    mutating func append(
        _ message: Delivery, _ body: UnsafeRawBufferPointer, bytes: Int, now: Duration,
        with insert: PreparedStatement, _ statements: Statements
    ) throws {
        let stamp = message.stamp
        let name = try intern(message.parts.name, statements)
        let key = SegmentEntry.Key(name: names.id(of: name), uid: stamp.uid)
        openSegment.insert(
            stamp.sequence, key.name, number: name, uid: stamp.uid, time: stamp.timeMicroseconds,
            bytes: bytes, now: now)
        try insert.bind(1, stamp.sequence)
        try insert.bind(2, key.column)
        try insert.bind(3, MessageRow.checksums(stamp.sequence, key, object: message.parts.object, body: body))
        try insert.bind(4, stamp.timeMicroseconds)
        try insert.bind(5, MessageRow.process(of: stamp))
        try insert.bindText(6, message.parts.object)
        try insert.bindText(7, message.parts.messageID)
        try insert.bindBlob(8, message.parts.headers)
        try insert.bindBlob(9, message.parts.payload)
        try insert.run()
    }

    private mutating func intern(
        _ name: UnsafeRawBufferPointer, _ statements: Statements
    ) throws -> NameTable.Number {
        if let number = names.find(name) { return number }
        guard !names.isExhausted else {
            throw StorageFailure(kind: .full, message: "the log has no id left for another name")
        }
        let number = names.add(name)
        let insert = statements.names.insert
        try insert.bind(1, names.id(of: number))
        try insert.bindText(2, name)
        try insert.bind(3, NameRow.checksum(id: names.id(of: number), name))
        defer { insert.clearBindings() }
        try insert.run()
        return number
    }

    // MARK: Segments

    /// The row of the open segment when it is closed.
    func closedRow(at now: Duration) -> SegmentRow {
        SegmentRow(
            segment: openSegment.segment, closed: now, entries: SegmentEncoding.encode(openSegment.entries))
    }

    /// Begins another open segment.
    mutating func openNextSegment() { openSegment.reset() }

    /// Replaces the entries of the open segment. `entries` no longer count the messages that the batch has deleted.
    mutating func keep(_ entries: [SegmentEntry]) { openSegment.keep(entries, names) }

    mutating func removeMessages(_ count: UInt64) { messages -= count }

    mutating func removeName(id: UInt32) { names.remove(id: id) }

    // MARK: Recovery

    /// Ensures that new names get ids from `id` on. Names with lower ids may have been removed.
    mutating func skipNameIDs(below id: UInt32) { names.skipIDs(below: id) }

    /// Reads the names, the totals of the closed segments, and the messages after these segments.
    ///
    /// - Parameter now: The log's time, from which the age of the open segment counts.
    /// - Returns: The messages and names of each user in the log.
    mutating func read(_ connection: DatabaseConnection, now: Duration) throws -> SegmentContents {
        try readNames(connection)
        var contents = try readSegments(connection)
        try readOpenSegment(connection, now: now)
        contents.add(openSegment.entries, names)
        return contents
    }

    private mutating func readNames(_ connection: DatabaseConnection) throws {
        let rows = try PreparedStatement(connection, "SELECT \(NameRow.columns) FROM names")
        while try rows.step() {
            guard let id = NameRow.id(in: rows), names.number(ofID: id) == nil else {
                throw StoreError(.damaged, "the name with id \(rows.integer(0)) in the log is damaged")
            }
            names.add(rows.bytes(1), id: id)
        }
    }

    /// Reads the totals of the closed segments.
    private mutating func readSegments(_ connection: DatabaseConnection) throws -> SegmentContents {
        let rows = try PreparedStatement(connection, "SELECT \(SegmentRow.columns) FROM segments ORDER BY first")
        var contents = SegmentContents()
        while try rows.step() {
            guard let row = SegmentRow(rows), row.segment.first > persistedThrough else {
                throw StoreError(.damaged, "the log's segment at \(rows.integer(0)) is damaged")
            }
            persistedThrough = row.segment.last
            messages += UInt64(row.segment.messages)
            row.withEntries { contents.add($0, names) }
        }
        return contents
    }

    /// Reads the messages after the closed segments, at most one segment.
    private mutating func readOpenSegment(_ connection: DatabaseConnection, now: Duration) throws {
        let rows = try PreparedStatement(
            connection,
            """
            SELECT \(MessageRow.keyColumns), time, \(MessageRow.byteCount)
            FROM messages WHERE sequence > ? ORDER BY sequence
            """)
        try rows.bind(1, persistedThrough)
        while try rows.step() {
            persistedThrough = rows.integer(0)
            let key = MessageRow.key(rows)
            guard MessageRow.isKeySound(rows), let number = names.number(ofID: key.name) else {
                openSegment.insertDamaged(persistedThrough, time: rows.integer(4), now: now)
                continue
            }
            let nameBytes = names.withBytes(of: number) { $0.count }
            openSegment.insert(
                persistedThrough, key.name, number: number, uid: key.uid, time: rows.integer(4),
                bytes: StoredUsage.messageOverhead + nameBytes + Int(rows.integer(5)), now: now)
        }
        messages += UInt64(openSegment.segment.messages)
    }

    /// Continues a log that this one replaces. The sequences of that log, up to `last`, are not used again.
    mutating func adopt(persistedThrough last: UInt64) { persistedThrough = max(persistedThrough, last) }

    /// Calls `body` with the names. `body` must not add any.
    mutating func withNames<Result>(_ body: (inout NameTable) throws -> Result) rethrows -> Result {
        try body(&names)
    }
}
