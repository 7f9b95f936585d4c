package import NIOCore
package import NotifyWire

/// A stretch of the log: deliver frames back to back, and where each begins.
///
/// The broker encodes posts into blocks, the store writes them from there and gives blocks back when it reads; the
/// same bytes go out of the sockets.
package struct LogBlock: Sendable {
    package struct Entry: Equatable, Sendable {
        package var sequence: UInt64
        /// Of the frame's header, counted from the start of `frames`' readable bytes.
        package var offset: UInt32
        /// Of the whole frame, header included.
        package var length: UInt32

        @inlinable
        package init(sequence: UInt64, offset: UInt32, length: UInt32) {
            self.sequence = sequence
            self.offset = offset
            self.length = length
        }
    }

    package var frames: ByteBuffer
    /// In rising order of sequence.
    package var entries: [Entry]

    @inlinable
    package init(frames: ByteBuffer = ByteBuffer(), entries: [Entry] = []) {
        self.frames = frames
        self.entries = entries
    }

    /// Calls `body` with the message of `entry`, read in place.
    @inlinable
    package func withMessage<Result>(_ entry: Entry, _ body: (Deliver) throws -> Result) rethrows -> Result {
        try frames.withUnsafeReadableBytes { bytes in
            let frame = bytes.slice(Int(entry.offset), Int(entry.offset) + Int(entry.length))
            guard let message = try? Deliver(reading: frame.slice(from: FrameHeader.size)) else {
                preconditionFailure("a log block holds a frame that is no delivery")
            }
            return try body(message)
        }
    }
}
