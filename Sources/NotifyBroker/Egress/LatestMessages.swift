import NIOCore
import NotifyWire

/// Reduces deliver frames to the latest of each name and object. All frames are noted first; then each buffer is
/// reduced.
struct LatestMessages {
    private struct Key: Hashable {
        var nameLength: Int
        /// The name, followed by the object, as a slice of the message.
        var bytes: ByteBuffer
    }

    /// The remaining and the dropped messages between two chunks that must arrive.
    struct Stretch {
        /// The messages dropped, now or earlier.
        var missed: Chunk.Missed?
        /// The messages that remain, in `bytes`.
        var content: Chunk.Missed?
        var bytes = ByteBuffer()
    }

    private var latest: [Key: UInt64] = [:]

    /// Notes the deliver frames in a buffer. Buffers must be noted in the order of their messages.
    mutating func note(_ frames: ByteBuffer) {
        Self.forEachMessage(in: frames) { sequence, key, _ in latest[key] = sequence }
    }

    /// Appends the latest messages to the stretch and records the others as dropped. Returns how many are dropped.
    func reduce(_ frames: ByteBuffer, into stretch: inout Stretch) -> UInt64 {
        var dropped: UInt64 = 0
        Self.forEachMessage(in: frames) { sequence, key, frame in
            let one = Chunk.Missed(count: 1, first: sequence, last: sequence)
            if latest[key] == sequence {
                stretch.bytes.writeImmutableBuffer(frame)
                stretch.content = stretch.content.map { $0 + one } ?? one
            } else {
                stretch.missed = stretch.missed.map { $0 + one } ?? one
                dropped += 1
            }
        }
        return dropped
    }

    private static func forEachMessage(in frames: ByteBuffer, _ body: (UInt64, Key, ByteBuffer) -> Void) {
        var frames = frames
        while let frame = frames.readFrame() {
            let place = frame.withUnsafeReadableBytes { bytes in
                let body = bytes.slice(from: FrameHeader.size)
                // The broker wrote these frames, so they can be read.
                guard let deliver = try? Deliver(reading: body), let start = bytes.baseAddress,
                    let name = deliver.parts.name.baseAddress
                else { preconditionFailure("not a deliver frame") }
                let (length, object) = (deliver.parts.name.count, deliver.parts.object.count)
                return (sequence: deliver.stamp.sequence, name: name - start, length: length, object: object)
            }
            guard let bytes = frame.getSlice(at: frame.readerIndex + place.name, length: place.length + place.object)
            else { preconditionFailure("a name lies in its frame") }
            body(place.sequence, Key(nameLength: place.length, bytes: bytes), frame)
        }
    }
}
