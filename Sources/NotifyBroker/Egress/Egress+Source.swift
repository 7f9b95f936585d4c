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

extension ByteBuffer {
    /// A slice of the written bytes, which must contain the range.
    @inline(__always)
    func writtenSlice(_ range: Range<Int>) -> ByteBuffer {
        guard let slice = getSlice(at: range.lowerBound, length: range.count) else {
            preconditionFailure("a span reaches past its source")
        }
        return slice
    }
}
