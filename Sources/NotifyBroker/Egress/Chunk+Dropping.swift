import DequeModule
import NIOCore
import NotifyWire

extension Chunk {
    /// Drops the oldest messages of a droppable chunk until the charge for the rest is at most `limit`.
    ///
    /// The rest is copied, so that it does not keep the original block alive.
    ///
    /// - Returns: The dropped messages (nil if there are none), their frames, and the rest (nil if all were dropped).
    func droppingOldest(
        of all: MessageSpan, downTo limit: Int
    ) -> (dropped: MessageSpan?, frames: ByteBuffer, rest: Chunk?) {
        // The largest buffer capacity within the limit. Capacities are powers of two.
        let room = limit > 0 ? 1 << (Int.bitWidth - 1 - limit.leadingZeroBitCount) : 0
        // Most chunks are dropped whole, without decoding their frames.
        guard room > 0 else { return (all, bytes, nil) }
        var frames = bytes
        var droppedCount: UInt64 = 0
        var lastDropped = all.first
        while frames.readableBytes > room, let frame = frames.readFrame() {
            droppedCount += 1
            lastDropped = frame.deliveredSequence
        }
        guard droppedCount < all.count else { return (all, bytes, nil) }
        let rest = ByteBuffer(bytes: frames.readableBytesView)
        let remaining = MessageSpan(count: all.count - droppedCount, first: rest.deliveredSequence, last: all.last)
        let dropped = droppedCount == 0 ? nil : MessageSpan(count: droppedCount, first: all.first, last: lastDropped)
        let droppedFrames =
            bytes.getSlice(at: bytes.readerIndex, length: bytes.readableBytes - rest.readableBytes) ?? ByteBuffer()
        return (
            dropped, droppedFrames, Chunk(content: .droppable(remaining), bytes: rest, charge: rest.capacity)
        )
    }
}

extension Chunk {
    static func gap(_ dropped: MessageSpan) -> Chunk {
        Chunk(content: .gap(dropped), bytes: ByteBuffer(), charge: 0)
    }
}

extension Deque<Chunk> {
    mutating func appendMergingGaps(_ chunk: Chunk) {
        if case .gap(let dropped) = chunk.content, case .gap(let earlier)? = last?.content {
            self[count - 1].content = .gap(earlier + dropped)
        } else {
            append(chunk)
        }
    }
}

extension ByteBuffer {
    /// Takes the frame at the front; nil at the end.
    mutating func readFrame() -> ByteBuffer? {
        guard readableBytes >= FrameHeader.size else { return nil }
        let header = withUnsafeReadableBytes { FrameHeader(reading: $0) }
        return readSlice(length: FrameHeader.size + Int(header.length))
    }

    /// The sequence of the deliver frame at the front.
    fileprivate var deliveredSequence: UInt64 {
        getInteger(at: readerIndex + FrameHeader.size, endianness: .little) ?? 0
    }
}
