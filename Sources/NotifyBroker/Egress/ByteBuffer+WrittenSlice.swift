import NIOCore

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
