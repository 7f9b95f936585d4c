/// Finds the frame at the start of received bytes. Keeps no state between calls; see `PartialFrame` for that.
package struct FrameDecoder: Sendable {
    /// A frame in place: `body` points into the bytes passed to `next(in:)`.
    package struct Frame {
        package var kind: UInt8
        package var flags: UInt8
        package var body: UnsafeRawBufferPointer
        /// Bytes of header and body together.
        package var size: Int

        @inlinable
        init(header: FrameHeader, body: UnsafeRawBufferPointer) {
            kind = header.kind
            flags = header.flags
            self.body = body
            size = FrameHeader.size + body.count
        }
    }

    /// The maximum size of a body in bytes. A longer body is refused as soon as the header is complete.
    package var maximumBodyBytes: Int

    package init(maximumBodyBytes: Int) {
        self.maximumBodyBytes = maximumBodyBytes
    }

    /// Reads the frame at the start of `bytes`.
    ///
    /// - Returns: The frame, or nil if it is incomplete.
    /// - Throws: `frameTooLarge` if the header announces a body over the limit.
    @inlinable @inline(__always)
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
