import NIOCore
import NotifyWire

/// Reduces deliver frames to the latest of each name and object. All buffers must be recorded before the first one is
/// reduced.
struct LatestMessages {
    private struct Key: Hashable {
        var nameLength: Int
        /// The name, followed by the object, as a slice of the message.
        var bytes: ByteBuffer
    }

    /// The remaining and the dropped messages of a section of the outbox: the chunks between two chunks that must
    /// arrive.
    struct Section {
        /// The messages dropped, now or earlier.
        var dropped: Chunk.MessageSpan?
        /// The messages that remain, in `bytes`.
        var content: Chunk.MessageSpan?
        var bytes = ByteBuffer()
    }

    private var latest: [Key: UInt64] = [:]

    /// Records the deliver frames in a buffer. Buffers must be recorded in the order of their messages.
    mutating func note(_ frames: ByteBuffer) {
        Self.forEachMessage(in: frames) { sequence, key, _ in latest[key] = sequence }
    }

    /// Appends the latest messages to the section and records the others as dropped.
    ///
    /// - Returns: The number of dropped messages.
    func reduce(_ frames: ByteBuffer, into section: inout Section) -> UInt64 {
        var dropped: UInt64 = 0
        Self.forEachMessage(in: frames) { sequence, key, frame in
            let one = Chunk.MessageSpan(count: 1, first: sequence, last: sequence)
            if latest[key] == sequence {
                section.bytes.writeImmutableBuffer(frame)
                section.content = section.content.map { $0 + one } ?? one
            } else {
                section.dropped = section.dropped.map { $0 + one } ?? one
                dropped += 1
            }
        }
        return dropped
    }

    private static func forEachMessage(in frames: ByteBuffer, _ body: (UInt64, Key, ByteBuffer) -> Void) {
        var frames = frames
        while let frame = frames.readFrame() {
            let parts = frame.withUnsafeReadableBytes { bytes in
                let body = bytes.slice(from: FrameHeader.size)
                // The broker wrote these frames, so they can be read.
                guard let delivery = try? Delivery(reading: body), let start = bytes.baseAddress,
                    let name = delivery.parts.name.baseAddress
                else { preconditionFailure("not a deliver frame") }
                let (length, object) = (delivery.parts.name.count, delivery.parts.object.count)
                return (sequence: delivery.stamp.sequence, name: name - start, length: length, object: object)
            }
            guard let bytes = frame.getSlice(at: frame.readerIndex + parts.name, length: parts.length + parts.object)
            else { preconditionFailure("a name reaches outside its frame") }
            body(parts.sequence, Key(nameLength: parts.length, bytes: bytes), frame)
        }
    }
}
