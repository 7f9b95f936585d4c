package import NIOCore
package import NotifyWire

/// Encoded messages of the log: deliver frames back to back, and the position of each.
///
/// The broker encodes posts into blocks. The store inserts messages from blocks, and returns pages as blocks. The bytes
/// of a block are sent to subscribers unchanged.
package struct LogBlock: Sendable {
    package struct Entry: Equatable, Sendable {
        package var sequence: UInt64
        /// The offset of the frame's header from the start of `frames`' readable bytes.
        package var offset: UInt32
        /// The length of the frame in bytes, header included.
        package var length: UInt32

        @inlinable
        package init(sequence: UInt64, offset: UInt32, length: UInt32) {
            self.sequence = sequence
            self.offset = offset
            self.length = length
        }
    }

    package var frames: ByteBuffer
    /// The entries of the messages, in ascending order of sequence.
    package var entries: [Entry]

    @inlinable
    package init(frames: ByteBuffer = ByteBuffer(), entries: [Entry] = []) {
        self.frames = frames
        self.entries = entries
    }

    /// Calls `body` with the message of `entry`, decoded in place without a copy.
    @inlinable
    package func withMessage<Result>(_ entry: Entry, _ body: (Delivery) throws -> Result) rethrows -> Result {
        try frames.withUnsafeReadableBytes { bytes in
            let frame = bytes.slice(Int(entry.offset), Int(entry.offset) + Int(entry.length))
            guard let message = try? Delivery(reading: frame.slice(from: FrameHeader.size)) else {
                preconditionFailure("a log block holds a frame that is no delivery")
            }
            return try body(message)
        }
    }
}
