import NIOCore
import NotifyWire

extension Chunk {
    /// Drops the oldest messages of a droppable chunk until the charge for the rest is at most `limit`.
    ///
    /// The rest is a copy, so that it keeps no larger block alive.
    func droppingOldest(of all: Missed, downTo limit: Int) -> (gone: Missed?, rest: Chunk?) {
        // Buffer capacities are powers of two: this is the largest within the limit.
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
