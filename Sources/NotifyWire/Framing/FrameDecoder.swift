/// Finds the next frame at the start of received bytes. Single-step: it keeps nothing between calls.
package struct FrameDecoder: Sendable {
    /// One frame, in place.
    package struct Frame {
        package var kind: UInt8
        package var flags: UInt8
        package var body: UnsafeRawBufferPointer
        /// Header and body together.
        package var size: Int

        @inlinable
        init(header: FrameHeader, body: UnsafeRawBufferPointer) {
            kind = header.kind
            flags = header.flags
            self.body = body
            size = FrameHeader.size + body.count
        }
    }

    /// Bytes that a body may have. A longer one is refused before anything is kept for it.
    package var maximumBodyBytes: Int

    package init(maximumBodyBytes: Int) {
        self.maximumBodyBytes = maximumBodyBytes
    }

    /// The frame at the start of `bytes`, or nil where it is not all there yet.
    @inlinable
    package func next(in bytes: UnsafeRawBufferPointer) throws(WireError) -> Frame? {
        guard bytes.count >= FrameHeader.size else { return nil }
        let header = FrameHeader(reading: bytes)
        let bodyBytes = Int(header.length)
        guard bodyBytes <= maximumBodyBytes else { throw tooLarge(bodyBytes) }
        guard bytes.count - FrameHeader.size >= bodyBytes else { return nil }
        return Frame(
            header: header,
            body: bytes.slice(FrameHeader.size, FrameHeader.size + bodyBytes))
    }

    @usableFromInline
    func tooLarge(_ bodyBytes: Int) -> WireError {
        WireError(.frameTooLarge, "a frame of \(bodyBytes) bytes is over the limit of \(maximumBodyBytes)")
    }
}
