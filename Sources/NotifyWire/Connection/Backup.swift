package import NIOCore

/// The place of a file: its folder, identified by device and inode, and its name in the folder.
package struct FileLocation: Hashable, Sendable {
    package var device: UInt64
    package var inode: UInt64
    /// The name of the file, at most 255 bytes.
    package var name: String

    package init(device: UInt64, inode: UInt64, name: String) {
        self.device = device
        self.inode = inode
        self.name = name
    }
}

/// Asks the daemon for a backup of its log. Only peers that may manage everything may ask. Backups are made one after
/// another.
package struct BackupRequest: ControlFrame, RequestFrame {
    package typealias Reply = BackupReady
    package static let kind = FrameKind.backup

    package var request: UInt64
    /// The file to which the backup will be written; an empty name for none. The daemon refuses its own files.
    package var target: FileLocation
    package var replyTime: ReplyTime { .long }

    package init(request: UInt64 = 0, target: FileLocation) {
        self.request = request
        self.target = target
    }

    package init(flags: UInt8, reading body: inout FieldReader) throws(WireError) {
        request = try body.integer()
        target = FileLocation(
            device: try body.integer(), inode: try body.integer(), name: try body.countedString())
    }

    package func writeBody(to buffer: inout ByteBuffer) {
        for field in [request, target.device, target.inode] { buffer.writeLE(field) }
        buffer.writeCounted(target.name)
    }
}

/// The answer to a backup request: the backup can be read in chunks.
package struct BackupReady: ReplyFrame {
    package static let kind = FrameKind.backupReady

    package var request: UInt64
    /// The size of the backup in bytes.
    package var bytes: UInt64

    package init(request: UInt64, bytes: UInt64) {
        self.request = request
        self.bytes = bytes
    }

    package init(flags: UInt8, reading body: inout FieldReader) throws(WireError) {
        request = try body.integer()
        bytes = try body.integer()
    }

    package func writeBody(to buffer: inout ByteBuffer) {
        buffer.writeLE(request)
        buffer.writeLE(bytes)
    }
}

/// Asks for a chunk of the connection's backup.
package struct BackupChunkRequest: ControlFrame, RequestFrame {
    package typealias Reply = BackupChunk
    package static let kind = FrameKind.backupChunkRequest
    /// The offset that ends the backup, whatever its size and its state.
    package static let end = UInt64.max

    package var request: UInt64
    /// The offset at which the chunk begins. An offset at or beyond the end of the backup ends the backup.
    package var offset: UInt64

    package init(request: UInt64 = 0, offset: UInt64) {
        self.request = request
        self.offset = offset
    }

    package init(flags: UInt8, reading body: inout FieldReader) throws(WireError) {
        request = try body.integer()
        offset = try body.integer()
    }

    package func writeBody(to buffer: inout ByteBuffer) {
        buffer.writeLE(request)
        buffer.writeLE(offset)
    }
}

/// The answer to a chunk request: bytes of the backup. Empty if the request has ended the backup.
package struct BackupChunk: ReplyFrame {
    package static let kind = FrameKind.backupChunk
    /// The maximum number of bytes in a chunk.
    package static let maximumBytes = 256 << 10

    package var request: UInt64
    package var bytes: ByteBuffer

    package init(request: UInt64, bytes: ByteBuffer) {
        self.request = request
        self.bytes = bytes
    }

    package init(flags: UInt8, reading body: inout FieldReader) throws(WireError) {
        request = try body.integer()
        bytes = ByteBuffer(bytes: body.rest())
    }

    package func writeBody(to buffer: inout ByteBuffer) {
        buffer.writeLE(request)
        buffer.writeImmutableBuffer(bytes)
    }
}
