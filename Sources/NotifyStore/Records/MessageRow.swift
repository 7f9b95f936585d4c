import NIOCore
import NotifyLog
import NotifyWire

/// A message as stored in the database.
enum MessageRow {
    /// The columns that decide which subscriptions get a message. ``isKeySound(_:)`` relies on their order. Reading
    /// only these takes less time than reading the message.
    ///
    /// - `key`: in the high 32 bits the id of the name, in the low 32 bits the uid (see ``SegmentEntry/Key``)
    /// - `checksums`: in the high 32 bits the checksum of the other three columns, in the low 32 bits that of the
    ///   message
    static let keyColumns = "sequence, key, object, checksums"
    /// The columns of a message. ``read(_:sequence:uid:name:)`` relies on their order. `process` has the gid in the
    /// high 32 bits and the pid in the low 32 bits: reading two columns would take 160 more instructions.
    static let columns = "\(keyColumns), time, process, id, headers, payload"
    /// The bytes of a message's object, id, headers and payload. The name and the constant overhead are not included.
    static let byteCount = """
        coalesce(length(CAST(object AS BLOB)), 0) + coalesce(length(CAST(id AS BLOB)), 0)
            + coalesce(length(headers), 0) + coalesce(length(payload), 0)
        """

    /// A row as read. The parts are valid until the statement's next step.
    struct Content {
        var stamp: Stamp
        var parts: MessageParts
        var checksum: UInt32
    }

    /// The key of the current row of a statement that selects ``keyColumns`` or ``columns``.
    static func key(_ row: PreparedStatement) -> SegmentEntry.Key { SegmentEntry.Key(row.integer(1)) }

    /// Reads the current row of a statement that selects ``columns``. Returns nil if its values are impossible for a
    /// message. The caller must still compare the checksum.
    static func read(
        _ row: PreparedStatement, sequence: UInt64, uid: UInt32, name: UnsafeRawBufferPointer
    ) -> Content? {
        let process = row.integer(5)
        let stamp = Stamp(
            sequence: sequence, timeMicroseconds: row.integer(4), uid: uid, gid: UInt32(process >> 32),
            pid: UInt32(truncatingIfNeeded: process))
        let (object, id, headers, payload) = (row.bytes(2), row.bytes(6), row.bytes(7), row.bytes(8))
        guard object.count <= Limits.objectBytes, id.count <= Limits.messageIDBytes,
            headers.count <= Limits.headerBytes + Limits.reservedHeaderBytes,
            payload.count <= Limits.maximumPayloadBytes, sequence < Limits.sequenceEnd
        else { return nil }
        return Content(
            stamp: stamp,
            parts: MessageParts(name: name, object: object, messageID: id, headers: headers, payload: payload),
            checksum: row.integer32(3))
    }

    /// Appends the message as a frame. Returns false, and appends nothing, if the row is damaged.
    static func append(_ content: Content, to frames: inout ByteBuffer) -> Bool {
        let offset = frames.writerIndex
        let length = Delivery.append(content.stamp, content.parts, to: &frames)
        let isSound = frames.withUnsafeReadableBytes { bytes in
            Checksum.of(bytes.slice(offset + FrameHeader.size, offset + length)) == content.checksum
        }
        if !isSound { frames.moveWriterIndex(to: offset) }
        return isSound
    }

    /// Whether the ``keyColumns`` are as they were stored. If not, the name of the message is unknown.
    static func isKeySound(_ row: PreparedStatement) -> Bool {
        keyChecksum(row.integer(0), key(row), object: row.bytes(2)) == UInt32(row.integer(3) >> 32)
    }

    /// The same for the current row of a statement of `ValueRow.message` or `ValueRow.messageKey`.
    static func isKeySound(value row: PreparedStatement) -> Bool {
        keyChecksum(row.integer(1), SegmentEntry.Key(row.integer(13)), object: row.bytes(8))
            == UInt32(row.integer(2) >> 32)
    }

    /// The column `checksums` of a message.
    ///
    /// - Parameter body: The body of the message's frame.
    static func checksums(
        _ sequence: UInt64, _ key: SegmentEntry.Key, object: UnsafeRawBufferPointer, body: UnsafeRawBufferPointer
    ) -> UInt64 {
        UInt64(keyChecksum(sequence, key, object: object)) << 32 | UInt64(Checksum.of(body))
    }

    private static func keyChecksum(
        _ sequence: UInt64, _ key: SegmentEntry.Key, object: UnsafeRawBufferPointer
    ) -> UInt32 {
        var checksum = Checksum()
        checksum.add(sequence, key.column)
        if !object.isEmpty { checksum.add(object) }
        return checksum.value
    }

    /// The column `process` of a message.
    static func process(of stamp: Stamp) -> UInt64 { UInt64(stamp.gid) << 32 | UInt64(stamp.pid) }
}
