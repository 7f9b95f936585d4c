package import NIOCore

/// The bytes of an incomplete frame, kept between two reads of a connection.
///
/// The caller joins the kept bytes with those of the next read, decodes the complete frames in place, and keeps the
/// rest. The number of kept bytes is bounded, because `FrameDecoder` refuses frames over the limit.
package struct PartialFrame {
    private var bytes = ByteBuffer()

    package init() {}

    /// Returns the kept bytes followed by those of `read`. Afterwards no bytes are kept.
    package mutating func join(_ read: ByteBuffer) -> ByteBuffer {
        guard bytes.readableBytes > 0 else { return read }
        var (joined, read) = (bytes, read)
        bytes = ByteBuffer()
        joined.writeBuffer(&read)
        return joined
    }

    /// Returns the kept bytes. Afterwards no bytes are kept.
    package mutating func take() -> ByteBuffer {
        defer { bytes = ByteBuffer() }
        return bytes
    }

    /// Keeps bytes for the next read. Bytes that take up at least half of their buffer are kept in place, so that a
    /// large frame is not copied at every read. Otherwise the bytes are copied, so that a few bytes do not keep a large
    /// buffer alive.
    package mutating func keep(_ rest: ByteBuffer) {
        guard rest.readableBytes > 0 else { return }
        bytes = rest.readableBytes * 2 >= rest.storageCapacity ? rest : ByteBuffer(bytes: rest.readableBytesView)
    }

    package mutating func removeAll() {
        bytes = ByteBuffer()
    }
}
