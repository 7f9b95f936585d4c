import NIOCore

extension Egress {
    /// A buffer to which the spans of outboxes refer.
    struct Source {
        /// A placeholder for a source that is still being written.
        static let unfinished = Source(ByteBuffer())

        let buffer: ByteBuffer
        let block: SharedBlock

        init(_ buffer: ByteBuffer) {
            self.buffer = buffer
            block = SharedBlock(buffer)
        }
    }
}
