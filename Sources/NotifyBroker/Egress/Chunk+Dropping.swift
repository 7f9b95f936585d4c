import NIOCore
import NotifyWire

extension Chunk {
    /// Drops the oldest of a chunk's droppable messages until what remains can be charged with at most `limit`.
    ///
    /// What remains is a copy, so that it keeps no larger block alive.
    func droppingOldest(of all: Missed, downTo limit: Int) -> (gone: Missed?, rest: Chunk?) {
        // Buffers have a power of two as their capacity.
        let room = limit > 0 ? 1 << (Int.bitWidth - 1 - limit.leadingZeroBitCount) : 0
        var frames = bytes
        var goneCount: UInt64 = 0
        var lastGone = all.first
        while frames.readableBytes > room, let frame = frames.readFrame() {
            goneCount += 1
            lastGone = frame.deliveredSequence
        }
        guard goneCount < all.count else { return (all, nil) }
        let rest = ByteBuffer(bytes: frames.readableBytesView)
        let remaining = Missed(count: all.count - goneCount, first: rest.deliveredSequence, last: all.last)
        let gone = goneCount == 0 ? nil : Missed(count: goneCount, first: all.first, last: lastGone)
        return (gone, Chunk(content: .droppable(remaining), bytes: rest, charge: rest.capacity))
    }
}

extension ByteBuffer {
    /// The frame at the front; nil at the end.
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
