package import NIOCore
package import NotifyWire

/// Reads frames from received bytes. Keeps an incomplete frame until the rest of the frame is appended.
package struct FrameReader {
    private var unread = PartialFrame()
    /// Whether no unread bytes are left.
    package private(set) var isEmpty = true

    package init() {}

    package mutating func append(_ received: some Sequence<UInt8>) {
        append(ByteBuffer(bytes: received))
    }

    package mutating func append(_ received: ByteBuffer) {
        keep(unread.join(received))
    }

    /// Returns the result of `body` for the next frame, or nil if that frame is incomplete.
    package mutating func next<Result>(_ body: (FrameDecoder.Frame) throws -> Result) throws -> Result? {
        var bytes = unread.join(ByteBuffer())
        defer { keep(bytes) }
        let taken = try bytes.withUnsafeReadableBytes { bytes -> (Result, Int)? in
            guard let frame = try FrameDecoder(maximumBodyBytes: 1 << 28).next(in: bytes) else { return nil }
            return (try body(frame), frame.size)
        }
        guard let (result, size) = taken else { return nil }
        bytes.moveReaderIndex(forwardBy: size)
        return result
    }

    private mutating func keep(_ rest: ByteBuffer) {
        isEmpty = rest.readableBytes == 0
        unread.keep(rest)
    }
}
