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
    /// The maximum size of small content, in bytes. Small content is in the page of its row, so reading it costs less than
    /// finding the row again.
    private static let smallContent = 1_024
    /// ``keyColumns``, and the content if it is small.
    static let pageColumns = "\(keyColumns), \(ifSmall("headers")), \(ifSmall("payload"))"
    /// The query for the message of a change, with the columns of a value. Its parameters are those that
    /// ``bind(_:to:)`` sets.
    static let message = message(content: "messages.headers, messages.payload")
    /// The same query without the content, and with the content if it is small.
    static let messageKey = message(content: "NULL, NULL")
    static let messagePage = message(
        content: "\(ifSmall("headers", of: "messages.")), \(ifSmall("payload", of: "messages."))")
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

    /// The possible sequences. Readers start after 0, so they would never reach a row with 0.
    private static let possible = 1..<Limits.sequenceEnd
    /// The possible numbers. Higher ones would leave none for further values.
    static let possibleNumbers = 1..<Limits.sequenceEnd / 2
    /// The latest possible time, in microseconds since 1970. The clock of the system is a signed number.
    private static let lastTime = UInt64(Int64.max)

    let number: UInt64
    let isCleared: Bool
    let stamp: Stamp
    let name: UnsafeRawBufferPointer
    let object: UnsafeRawBufferPointer
    let headersLength: UInt64
    let payloadLength: UInt64
    /// Whether the value is read from its message, because its row does not have it yet.
    let isFromMessage: Bool

    /// Reads the current row of a statement that selects ``keyColumns``, ``pageColumns`` or ``columns``. Returns nil if the
    /// row is damaged. The content is not checked.
    init?(_ row: PreparedStatement) {
        let process = row.integer(6)
        guard row.integer(3) <= 1, let uid = UInt32(exactly: row.integer(5)), row.integer(4) <= Self.lastTime,
            Self.possibleNumbers.contains(row.integer(0)), Self.possible.contains(row.integer(1))
        else { return nil }
        number = row.integer(0)
        isCleared = row.integer(3) == 1
        stamp = Stamp(
            sequence: row.integer(1), timeMicroseconds: row.integer(4), uid: uid, gid: UInt32(process >> 32),
            pid: UInt32(truncatingIfNeeded: process))
        (name, object) = (row.bytes(7), row.bytes(8))
        (headersLength, payloadLength) = (row.integer(9), row.integer(10))
        isFromMessage = false
        guard checksum == UInt32(row.integer(2) >> 32), hasPossibleSizes else { return nil }
    }

    private var hasPossibleSizes: Bool {
        (try? NotificationName.validate(utf8: name)) != nil && object.count <= Limits.objectBytes
            && headersLength <= Limits.headerBytes + Limits.reservedHeaderBytes
            && payloadLength <= Limits.maximumPayloadBytes
    }

    /// Reads the current row of a statement of ``message``, ``messagePage`` or ``messageKey``. Returns nil if the message is
    /// damaged. The content is not checked.
    init?(ofMessage row: PreparedStatement) {
        let key = SegmentEntry.Key(row.integer(13))
        let process = row.integer(6)
        number = row.integer(0)
        isCleared = row.integer(3) == 1
        stamp = Stamp(
            sequence: row.integer(1), timeMicroseconds: row.integer(4), uid: key.uid, gid: UInt32(process >> 32),
            pid: UInt32(truncatingIfNeeded: process))
        (name, object) = (row.bytes(7), row.bytes(8))
        (headersLength, payloadLength) = (row.integer(9), row.integer(10))
        isFromMessage = true
        guard row.integer(4) <= Self.lastTime, Self.possibleNumbers.contains(number),
            Self.possible.contains(stamp.sequence),
            NameRow.checksum(id: key.name, name) == row.integer32(14), MessageRow.isKeySound(value: row),
            hasPossibleSizes
        else { return nil }
    }

    /// Sets the parameters of a statement of ``message``, ``messagePage`` or ``messageKey``.
    static func bind(_ change: ValueChange, to statement: PreparedStatement) throws(SQLiteFailure) {
        try statement.bind(1, change.number)
        try statement.bind(2, Int64(change.isCleared ? 1 : 0))
        try statement.bind(3, change.sequence)
    }

    /// The expression for a column if the content is small, otherwise for NULL. It does not read larger content.
    private static func ifSmall(_ column: String, of table: String = "") -> String {
        """
        CASE WHEN coalesce(length(\(table)headers), 0) + coalesce(length(\(table)payload), 0) <= \(smallContent)
            THEN \(table)\(column) END
        """
    }

    private static func message(content: String) -> String {
        // `key` has the id of the name in the high 32 bits, and the uid in the low ones.
        """
        SELECT ?1, messages.sequence, messages.checksums, ?2, messages.time, messages.key & 0xFFFFFFFF,
            messages.process, names.name, messages.object, coalesce(length(messages.headers), 0),
            coalesce(length(messages.payload), 0), \(content), messages.key, names.crc
        FROM messages CROSS JOIN names ON names.id = messages.key >> 32 & 0xFFFFFFFF
        WHERE messages.sequence = ?3
        """
    }

    private init(_ message: Delivery, _ change: ValueChange) {
        number = change.number
        isCleared = change.isCleared
        stamp = message.stamp
        (name, object) = (message.parts.name, message.parts.object)
        (headersLength, payloadLength) = (UInt64(message.parts.headers.count), UInt64(message.parts.payload.count))
        isFromMessage = false
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

    /// Sets the row of a number to a damaged value, because the message of its last change is damaged. An earlier value
    /// would be wrong.
    static func setDamaged(_ change: ValueChange, with set: PreparedStatement) throws {
        try set.bind(1, change.number)
        try set.bind(2, change.sequence)
        for column: Int32 in 3...7 { try set.bind(column, Int64(0)) }
        // No name has a space.
        try set.bindText(8, copying: " ")
        defer { set.clearBindings() }
        try set.run()
    }

    /// Sets the row of a number to the current row of a statement that selects ``columns``, or of a statement of
    /// ``message``. The statements may be those of different databases.
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

    /// Whether the content is small, so that ``pageColumns`` and ``messagePage`` have it.
    var isSmall: Bool { headersLength + payloadLength <= Self.smallContent }

    /// The change that has made the value.
    var change: ValueChange { ValueChange(sequence: stamp.sequence, number: number, isCleared: isCleared) }

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
