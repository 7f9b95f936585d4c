import NIOCore
import NotifyCenter
import NotifyLog
import NotifyWire

/// A value, or the mark of a cleared one, as stored in the database: a copy of the message that has set or cleared it.
///
/// The bytes point into the statement's row, and are valid until its next step.
struct ValueRow {
    /// The columns that `init` reads. SQLite reads the lengths of headers and payload without reading these.
    ///
    /// - `number`: the number of the value's name and object
    /// - `checksums`: in the high 32 bits the checksum of the other columns and of the lengths of headers and payload,
    ///   in the low 32 bits that of the message
    /// - `process`: in the high 32 bits the gid, in the low 32 bits the pid
    static let keyColumns = """
        number, sequence, checksums, cleared, time, uid, process, name, object,
        coalesce(length(headers), 0), coalesce(length(payload), 0)
        """
    /// ``keyColumns``, and the content.
    static let columns = "\(keyColumns), headers, payload"
    /// The number of rows with negative numbers, which are damaged and which no scan in the order of numbers reads.
    static let negativeCount = "SELECT count(*) FROM retained WHERE number < 0"
    /// Sets the row of a number.
    static let set = """
        INSERT INTO retained (number, sequence, checksums, cleared, time, uid, process, name, object, headers, payload)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
        ON CONFLICT (number) DO UPDATE
        SET sequence = ?2, checksums = ?3, cleared = ?4, time = ?5, uid = ?6, process = ?7, name = ?8, object = ?9,
            headers = ?10, payload = ?11
        """

    /// The possible numbers and sequences. Readers start after 0, so they would never reach a row with 0.
    private static let possible = 1..<Limits.sequenceEnd
    /// The latest possible time, in microseconds since 1970. The clock of the system is a signed number.
    private static let lastTime = UInt64(Int64.max)

    let number: UInt64
    let isCleared: Bool
    let stamp: Stamp
    let name: UnsafeRawBufferPointer
    let object: UnsafeRawBufferPointer
    let headersLength: UInt64
    let payloadLength: UInt64

    /// Reads the current row of a statement that selects ``keyColumns`` or ``columns``. Returns nil if the row is
    /// damaged. The content is not checked.
    init?(_ row: PreparedStatement) {
        let process = row.integer(6)
        guard row.integer(3) <= 1, let uid = UInt32(exactly: row.integer(5)), row.integer(4) <= Self.lastTime,
            Self.possible.contains(row.integer(0)), Self.possible.contains(row.integer(1))
        else { return nil }
        number = row.integer(0)
        isCleared = row.integer(3) == 1
        stamp = Stamp(
            sequence: row.integer(1), timeMicroseconds: row.integer(4), uid: uid, gid: UInt32(process >> 32),
            pid: UInt32(truncatingIfNeeded: process))
        (name, object) = (row.bytes(7), row.bytes(8))
        (headersLength, payloadLength) = (row.integer(9), row.integer(10))
        guard checksum == UInt32(row.integer(2) >> 32), (try? NotificationName.validate(utf8: name)) != nil,
            object.count <= Limits.objectBytes,
            headersLength <= Limits.headerBytes + Limits.reservedHeaderBytes,
            payloadLength <= Limits.maximumPayloadBytes
        else { return nil }
    }

    private init(_ message: Delivery, _ change: ValueChange) {
        number = change.number
        isCleared = change.isCleared
        stamp = message.stamp
        (name, object) = (message.parts.name, message.parts.object)
        (headersLength, payloadLength) = (UInt64(message.parts.headers.count), UInt64(message.parts.payload.count))
    }

    private var checksum: UInt32 {
        var checksum = Checksum()
        checksum.add(number, stamp.sequence)
        checksum.add(isCleared ? 1 : 0, stamp.timeMicroseconds)
        checksum.add(UInt64(stamp.uid), MessageRow.process(of: stamp))
        checksum.add(headersLength, payloadLength)
        checksum.add(name)
        checksum.add(object)
        return checksum.value
    }

    /// Sets the row of a number to a message.
    ///
    /// - Parameters:
    ///   - body: The body of the message's frame.
    ///   - set: A statement of ``set``.
    static func set(
        _ change: ValueChange, to message: Delivery, _ body: UnsafeRawBufferPointer, with set: PreparedStatement
    ) throws {
        let row = ValueRow(message, change)
        try row.bind(message.parts, bodyChecksum: Checksum.of(body), to: set)
        defer { set.clearBindings() }
        try set.run()
    }

    private func bind(_ parts: MessageParts, bodyChecksum: UInt32, to set: PreparedStatement) throws {
        try set.bind(1, number)
        try set.bind(2, stamp.sequence)
        try set.bind(3, UInt64(checksum) << 32 | UInt64(bodyChecksum))
        try set.bind(4, Int64(isCleared ? 1 : 0))
        try set.bind(5, stamp.timeMicroseconds)
        try set.bind(6, stamp.uid)
        try set.bind(7, MessageRow.process(of: stamp))
        try set.bindText(8, name)
        try set.bindText(9, object)
        try set.bindBlob(10, parts.headers)
        try set.bindBlob(11, parts.payload)
    }

    /// Sets the row of a number in another database to the current row of a statement that selects ``columns``.
    func copy(_ row: PreparedStatement, with set: PreparedStatement) throws {
        try bind(parts(in: row), bodyChecksum: row.integer32(2), to: set)
        defer { set.clearBindings() }
        try set.run()
    }

    private func parts(in row: PreparedStatement) -> MessageParts {
        MessageParts(
            name: name, object: object, messageID: UnsafeRawBufferPointer(start: nil, count: 0),
            headers: row.bytes(11), payload: row.bytes(12))
    }

    /// Appends the message in the current row of a statement that selects ``columns`` as a frame. Returns false, and
    /// appends nothing, if the content is damaged.
    func append(_ row: PreparedStatement, to frames: inout ByteBuffer) -> Bool {
        MessageRow.append(
            MessageRow.Content(stamp: stamp, parts: parts(in: row), checksum: row.integer32(2)), to: &frames)
    }

    /// Whether the content in the current row of a statement that selects ``columns`` is as it was stored.
    func isContentSound(_ row: PreparedStatement) -> Bool {
        var frame = ByteBuffer()
        return append(row, to: &frame)
    }

    /// The message of the row without its content.
    var parts: MessageParts {
        let nothing = UnsafeRawBufferPointer(start: nil, count: 0)
        return MessageParts(name: name, object: object, messageID: nothing, headers: nothing, payload: nothing)
    }

    /// The value for the broker.
    var value: StoredValue {
        let nothing = UnsafeRawBufferPointer(start: nil, count: 0)
        return StoredValue(
            key: ValueKey(name: name, object: object),
            nameKey: object.isEmpty ? nil : ValueKey(name: name, object: nothing), number: number,
            sequence: stamp.sequence, uid: stamp.uid,
            bytes: StoredValue.bytes(
                name: name.count, object: object.count, headers: Int(headersLength), payload: Int(payloadLength)),
            isCleared: isCleared, timeMicroseconds: stamp.timeMicroseconds)
    }
}

/// The statements of values.
struct ValueStatements {
    let set, forget: PreparedStatement
    /// Read the row of a number, without the content and whole.
    let readKey, readOne: PreparedStatement
    /// Read rows without their content in the order of numbers, and of sequences.
    let byNumber, bySequence: PreparedStatement

    init(_ connection: DatabaseConnection) throws(SQLiteFailure) {
        func prepare(_ sql: String) throws(SQLiteFailure) -> PreparedStatement {
            try PreparedStatement(connection, sql)
        }
        set = try prepare(ValueRow.set)
        forget = try prepare("DELETE FROM retained WHERE number = ? AND cleared = 1")
        readKey = try prepare("SELECT \(ValueRow.keyColumns) FROM retained WHERE number = ?")
        readOne = try prepare("SELECT \(ValueRow.columns) FROM retained WHERE number = ?")
        byNumber = try prepare(
            "SELECT \(ValueRow.keyColumns) FROM retained WHERE number > ? AND number <= ? ORDER BY number")
        bySequence = try prepare(
            "SELECT \(ValueRow.keyColumns) FROM retained WHERE sequence > ? AND sequence <= ? ORDER BY sequence")
    }
}
