import NIOCore
import NotifyWire

/// The buffer into which a tick's volatile deliveries are encoded, once for all subscribers.
///
/// A fixed number of finished buffers is reused in turn. The sockets have usually sent the contents of a buffer before
/// its reuse, so that no memory is allocated.
struct BlockWriter {
    private static let maximumFinished = 8
    /// The maximum capacity of a buffer that is reused, in bytes.
    private static let maximumReusedCapacity = 512 << 10

    private(set) var buffer = ByteBuffer()
    private var finishedBuffers: [ByteBuffer] = []
    private var nextReused = 0

    /// Appends one delivery and returns its position.
    mutating func append(_ stamp: Stamp, _ parts: MessageParts) -> (start: Int, end: Int) {
        let start = buffer.writerIndex
        Delivery.append(stamp, parts, to: &buffer)
        return (start, buffer.writerIndex)
    }

    /// Returns the finished buffer and begins an empty one.
    mutating func seal() -> ByteBuffer {
        let finished = buffer
        buffer = ByteBuffer()
        if finished.capacity <= Self.maximumReusedCapacity {
            if finishedBuffers.count < Self.maximumFinished {
                finishedBuffers.append(finished)
            } else {
                swap(&finishedBuffers[nextReused], &buffer)
                // `clear` copies nothing: if slices of the buffer are still held, it allocates a new buffer. The new
                // buffer gets only the capacity that the finished block needed, because the slices of a block keep its
                // unused capacity allocated, too.
                buffer.clear(minimumCapacity: finished.writerIndex)
                finishedBuffers[nextReused] = finished
                nextReused = (nextReused + 1) % Self.maximumFinished
            }
        }
        return finished
    }
}
