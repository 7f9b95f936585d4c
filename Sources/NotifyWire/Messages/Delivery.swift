package import NIOCore

/// A delivered message: its stamp and its parts. It is encoded once; all subscribers and the log share the bytes.
///
/// Body: sequence u64, time u64 (µs), uid u32, gid u32, pid u32, headers length u16, name length u8, object length
/// u8, message id length u8, three reserved bytes; then name, object, message id, headers, payload.
package struct Delivery {
    package static let fixedSize = 36

    package var stamp: Stamp
    package var parts: MessageParts

    package init(_ stamp: Stamp, _ parts: MessageParts) {
        self.stamp = stamp
        self.parts = parts
    }

    /// Reads the layout of a deliver frame's body, without checking the text. The parts point into `body`.
    @inlinable
    package init(reading body: UnsafeRawBufferPointer) throws(WireError) {
        guard body.count >= Self.fixedSize else { throw .truncated }
        stamp = Stamp(
            sequence: UInt64(littleEndian: body.loadUnaligned(fromByteOffset: 0, as: UInt64.self)),
            timeMicroseconds: UInt64(littleEndian: body.loadUnaligned(fromByteOffset: 8, as: UInt64.self)),
            uid: UInt32(littleEndian: body.loadUnaligned(fromByteOffset: 16, as: UInt32.self)),
            gid: UInt32(littleEndian: body.loadUnaligned(fromByteOffset: 20, as: UInt32.self)),
            pid: UInt32(littleEndian: body.loadUnaligned(fromByteOffset: 24, as: UInt32.self)))
        let parts = MessageParts(
            splitting: body.slice(from: Self.fixedSize),
            nameLength: body[30], objectLength: body[31], messageIDLength: body[32],
            headersLength: UInt16(littleEndian: body.loadUnaligned(fromByteOffset: 28, as: UInt16.self)))
        guard let parts else { throw .truncated }
        self.parts = parts
    }

    /// Appends a whole deliver frame and returns its size in bytes. The parts must be within `Limits`.
    @inlinable
    @discardableResult
    package static func append(_ stamp: Stamp, _ parts: MessageParts, to buffer: inout ByteBuffer) -> Int {
        let bodySize = fixedSize + parts.byteCount
        let size = FrameHeader.size + bodySize
        buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: size) { target in
            target.storeBytes(of: UInt32(bodySize).littleEndian, as: UInt32.self)
            target.storeBytes(of: UInt32(FrameKind.deliver.rawValue).littleEndian, toByteOffset: 4, as: UInt32.self)
            target.storeBytes(of: stamp.sequence.littleEndian, toByteOffset: 8, as: UInt64.self)
            target.storeBytes(of: stamp.timeMicroseconds.littleEndian, toByteOffset: 16, as: UInt64.self)
            target.storeBytes(of: stamp.uid.littleEndian, toByteOffset: 24, as: UInt32.self)
            target.storeBytes(of: stamp.gid.littleEndian, toByteOffset: 28, as: UInt32.self)
            target.storeBytes(of: stamp.pid.littleEndian, toByteOffset: 32, as: UInt32.self)
            target.storeBytes(
                of: UInt16(parts.headers.count).littleEndian, toByteOffset: 36, as: UInt16.self)
            target[38] = UInt8(parts.name.count)
            target[39] = UInt8(parts.object.count)
            target[40] = UInt8(parts.messageID.count)
            target[41] = 0
            target[42] = 0
            target[43] = 0
            var offset = FrameHeader.size + fixedSize
            offset = place(parts.name, at: offset, in: target)
            offset = place(parts.object, at: offset, in: target)
            offset = place(parts.messageID, at: offset, in: target)
            offset = place(parts.headers, at: offset, in: target)
            return place(parts.payload, at: offset, in: target)
        }
        return size
    }

    /// Copies `part` to `offset` and returns the offset of its end.
    @inlinable
    static func place(
        _ part: UnsafeRawBufferPointer, at offset: Int, in target: UnsafeMutableRawBufferPointer
    ) -> Int {
        let end = offset + part.count
        UnsafeMutableRawBufferPointer(rebasing: target[offset..<end]).copyMemory(from: part)
        return end
    }
}
