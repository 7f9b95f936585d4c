package import NIOCore

/// The beginning of a frame whose end has not arrived, between two reads of a connection.
///
/// A reader joins each read with it, uses the whole frames in place, and keeps the rest. The reader bounds it by refusing
/// longer frames.
package struct PartialFrame {
    private var bytes = ByteBuffer()

    package init() {}

    /// Takes the bytes kept, with those of a read behind them.
    package mutating func join(_ read: ByteBuffer) -> ByteBuffer {
        guard bytes.readableBytes > 0 else { return read }
        var (joined, read) = (bytes, read)
        bytes = ByteBuffer()
        joined.writeBuffer(&read)
        return joined
    }

    /// Takes the bytes kept.
    package mutating func take() -> ByteBuffer {
        defer { bytes = ByteBuffer() }
        return bytes
    }

    /// Keeps bytes: in place where they take up most of their buffer, so that a large frame is not copied at every read;
    /// copied out otherwise, so that a few bytes do not keep a large buffer alive.
    package mutating func keep(_ rest: ByteBuffer) {
        guard rest.readableBytes > 0 else { return }
        bytes = rest.readableBytes * 2 >= rest.storageCapacity ? rest : ByteBuffer(bytes: rest.readableBytesView)
    }

    package mutating func removeAll() {
        bytes = ByteBuffer()
    }
}
