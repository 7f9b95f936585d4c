import NIOCore
import NotifyWire

/// Reduces deliver frames to the latest of each name and object.
struct LatestMessages {
    private struct Key: Hashable {
        var name: [UInt8]
        var object: [UInt8]
    }

    private struct Kept {
        var frame: ByteBuffer
        var sequence: UInt64
    }

    private var latest: [Key: Kept] = [:]
    private var dropped: Chunk.Missed?

    /// Takes in deliver frames that lie back to back.
    mutating func take(_ frames: ByteBuffer) {
        var frames = frames
        while let header = frames.readableFrameHeader,
            let frame = frames.readSlice(length: FrameHeader.size + Int(header.length))
        {
            frame.withUnsafeReadableBytes { bytes in
                let body = UnsafeRawBufferPointer(rebasing: bytes[FrameHeader.size...])
                // The broker wrote these frames, so they can be read.
                guard let deliver = try? Deliver(reading: body) else { preconditionFailure("not a deliver frame") }
                let key = Key(name: [UInt8](deliver.parts.name), object: [UInt8](deliver.parts.object))
                let kept = Kept(frame: frame, sequence: deliver.stamp.sequence)
                if let outdated = latest.updateValue(kept, forKey: key) { drop(outdated.sequence) }
            }
        }
    }

    private mutating func drop(_ sequence: UInt64) {
        let one = Chunk.Missed(count: 1, first: sequence, last: sequence)
        dropped = dropped.map { $0 + one } ?? one
    }

    /// What remains, in order of sequence, in a buffer of its own.
    consuming func finish() -> (remaining: Chunk?, dropped: Chunk.Missed?) {
        let kept = latest.values.sorted { $0.sequence < $1.sequence }
        guard let first = kept.first, let last = kept.last else { return (nil, dropped) }
        var bytes = ByteBuffer()
        bytes.reserveCapacity(kept.reduce(0) { $0 + $1.frame.readableBytes })
        for message in kept {
            bytes.writeImmutableBuffer(message.frame)
        }
        let content = Chunk.Content.droppable(
            Chunk.Missed(count: UInt64(kept.count), first: first.sequence, last: last.sequence))
        return (Chunk(content: content, bytes: bytes, charge: bytes.capacity), dropped)
    }
}

extension ByteBuffer {
    fileprivate var readableFrameHeader: FrameHeader? {
        guard readableBytes >= FrameHeader.size else { return nil }
        return withUnsafeReadableBytes { FrameHeader(reading: $0) }
    }
}
