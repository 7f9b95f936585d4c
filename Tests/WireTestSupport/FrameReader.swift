package import NIOCore
package import NotifyWire

/// Received bytes, taken out frame by frame. The beginning of a frame is kept until its rest is appended.
package struct FrameReader {
    private var bytes = ByteBuffer()

    package init() {}

    /// Whether all bytes were taken out.
    package var isEmpty: Bool { bytes.readableBytes == 0 }

    package mutating func append(_ received: some Sequence<UInt8>) {
        bytes.discardReadBytes()
        bytes.writeBytes(received)
    }

    package mutating func append(_ received: ByteBuffer) {
        bytes.discardReadBytes()
        bytes.writeImmutableBuffer(received)
    }

    /// Takes out the next frame, if all of it is there.
    package mutating func next<Result>(_ body: (FrameDecoder.Frame) throws -> Result) throws -> Result? {
        let taken = try bytes.withUnsafeReadableBytes { bytes -> (Result, Int)? in
            guard let frame = try FrameDecoder(maximumBodyBytes: 1 << 28).next(in: bytes) else { return nil }
            return (try body(frame), frame.size)
        }
        guard let (result, size) = taken else { return nil }
        bytes.moveReaderIndex(forwardBy: size)
        return result
    }
}
