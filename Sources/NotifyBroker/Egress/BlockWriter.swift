import NIOCore
import NotifyWire

/// The buffer into which a tick's volatile deliveries are encoded, once for all subscribers.
///
/// Buffers are taken into use again in turn: by then the sockets have usually taken what was in them, and no new
/// memory is asked for.
struct BlockWriter {
    private static let spares = 8
    /// A buffer that grew beyond this is not kept.
    private static let keptCapacity = 512 << 10

    private(set) var buffer = ByteBuffer()
    private var used: [ByteBuffer] = []
    private var turn = 0

    /// Appends one delivery and returns where it lies.
    mutating func append(_ stamp: Stamp, _ parts: MessageParts) -> (start: Int, end: Int) {
        let start = buffer.writerIndex
        Deliver.append(stamp, parts, to: &buffer)
        return (start, buffer.writerIndex)
    }

    /// The finished buffer, and an empty one in its place.
    mutating func cut() -> ByteBuffer {
        let finished = buffer
        buffer = ByteBuffer()
        if finished.capacity <= Self.keptCapacity {
            if used.count < Self.spares {
                used.append(finished)
            } else {
                swap(&used[turn], &buffer)
                // Copies nothing: where a slice is still held, this takes a new buffer. It has room for what was needed last:
                // those that are held would otherwise keep far more memory than they have bytes.
                buffer.clear(minimumCapacity: finished.writerIndex)
                used[turn] = finished
                turn = (turn + 1) % Self.spares
            }
        }
        return finished
    }
}
