import NIOCore
import NotifyLog
import NotifyWire

/// A message as stored in the database.
enum MessageRow {
    /// The columns of a row, in the order in which ``read(_:name:)`` reads them. The column `checksums` has the
    /// checksum of the message in its low 32 bits, and in its high ones that of the columns that decide for whom the
    /// message is.
    static let columns = "sequence, name, object, time, uid, gid, pid, id, headers, payload, checksums"
    /// The columns that decide for whom a message is, in the order in which ``isKeySound(_:)`` reads them. Reading only
    /// these takes less time than reading the message.
    static let keyColumns = "sequence, name, object, uid, checksums"

    /// A row as read. The parts are valid until the statement's next step.
    struct Content {
        var stamp: Stamp
        var parts: MessageParts
        var checksum: UInt32
    }

    /// Reads the current row of a statement that selects ``columns``. Returns nil if the row is damaged so that no
    /// message can be made of it. Otherwise the checksum is still to be compared.
    static func read(_ row: PreparedStatement, name: UnsafeRawBufferPointer) -> Content? {
        let stamp = Stamp(
            sequence: row.integer(0), timeMicroseconds: row.integer(3), uid: row.integer32(4), gid: row.integer32(5),
            pid: row.integer32(6))
        let (object, id, headers, payload) = (row.bytes(2), row.bytes(7), row.bytes(8), row.bytes(9))
        guard object.count <= Limits.objectBytes, id.count <= Limits.messageIDBytes,
            headers.count <= Limits.headerBytes, payload.count <= Limits.maximumPayloadBytes
        else { return nil }
        return Content(
            stamp: stamp,
            parts: MessageParts(name: name, object: object, messageID: id, headers: headers, payload: payload),
            checksum: row.integer32(10))
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

    /// Whether the columns that decide for whom a message is are as they were stored. If not, its name is unknown.
    static func isKeySound(_ row: PreparedStatement) -> Bool {
        isKeySound(row.integer(0), name: row.integer32(1), uid: row.integer32(3), object: row.bytes(2), row.integer(4))
    }

    static func isKeySound(
        _ sequence: UInt64, name: UInt32, uid: UInt32, object: UnsafeRawBufferPointer, _ checksums: UInt64
    ) -> Bool {
        keyChecksum(sequence, name: name, uid: uid, object: object) == UInt32(checksums >> 32)
    }

    /// The column `checksums` of a message.
    ///
    /// - Parameter body: The body of the message's frame.
    static func checksums(
        _ sequence: UInt64, name: UInt32, uid: UInt32, object: UnsafeRawBufferPointer, body: UnsafeRawBufferPointer
    ) -> UInt64 {
        UInt64(keyChecksum(sequence, name: name, uid: uid, object: object)) << 32 | UInt64(Checksum.of(body))
    }

    private static func keyChecksum(
        _ sequence: UInt64, name: UInt32, uid: UInt32, object: UnsafeRawBufferPointer
    ) -> UInt32 {
        var checksum = Checksum()
        checksum.add(sequence, UInt64(name) << 32 | UInt64(uid))
        if !object.isEmpty { checksum.add(object) }
        return checksum.value
    }
}
