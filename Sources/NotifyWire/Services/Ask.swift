package import NIOCore

/// A request to one of the servers of its name. Never stored. Read in place.
///
/// Body: request u64, time limit u32 (ms), headers length u16, name length u8, one reserved byte; then name, headers,
/// payload. The answer is a ``ServiceReply`` or an error.
package struct Ask {
    package static let fixedSize = 16

    package var request: UInt64
    /// The time until the daemon answers with `timedOut`, in milliseconds, from 1 to an hour.
    package var timeoutMilliseconds: UInt32
    /// The name, the headers and the payload. A request has no object and no id.
    package var parts: MessageParts

    package init(request: UInt64, timeoutMilliseconds: UInt32, parts: MessageParts) {
        self.request = request
        self.timeoutMilliseconds = timeoutMilliseconds
        self.parts = parts
    }

    /// Reads the layout, without checking the content of the parts, which point into the frame.
    package init(_ frame: FrameDecoder.Frame) throws(WireError) {
        let body = frame.body
        guard frame.flags == 0 else { throw .unknownFlags }
        guard body.count >= Self.fixedSize else { throw .truncated }
        let parts = MessageParts(
            splitting: body.slice(from: Self.fixedSize), nameLength: body[14], objectLength: 0, messageIDLength: 0,
            headersLength: UInt16(littleEndian: body.loadUnaligned(fromByteOffset: 12, as: UInt16.self)))
        guard let parts else { throw .truncated }
        self.parts = parts
        request = UInt64(littleEndian: body.loadUnaligned(as: UInt64.self))
        timeoutMilliseconds = UInt32(littleEndian: body.loadUnaligned(fromByteOffset: 8, as: UInt32.self))
    }

    /// Appends a whole frame. The parts must be within `Limits`.
    package func append(to buffer: inout ByteBuffer) {
        buffer.writeFrame(.ask) { buffer in
            buffer.writeLE(request)
            buffer.writeLE(timeoutMilliseconds)
            buffer.writeLE(UInt16(parts.headers.count))
            buffer.writeInteger(UInt8(parts.name.count))
            buffer.writeInteger(UInt8(0))
            buffer.writeBytes(parts.name)
            buffer.writeBytes(parts.headers)
            buffer.writeBytes(parts.payload)
        }
    }
}

/// Cancels an unanswered ``Ask`` of this connection. Needs no answer: the daemon answers the ask itself, with
/// `requestCancelled` unless another answer has crossed with this frame.
package struct CancelAsk: BareFrame {
    package static let kind = FrameKind.cancelAsk

    /// The number of the ask.
    package var request: UInt64

    package init(request: UInt64) {
        self.request = request
    }
}

/// The answer to an ``Ask``: the response of a server.
package struct ServiceReply: ReplyFrame {
    package static let kind = FrameKind.serviceReply

    package var request: UInt64
    /// The ids of the server, as reported by the kernel.
    package var uid: UInt32
    package var gid: UInt32
    package var pid: UInt32
    /// The encoded headers.
    package var headers: ByteBuffer
    package var payload: ByteBuffer

    package init(request: UInt64, uid: UInt32, gid: UInt32, pid: UInt32, headers: ByteBuffer, payload: ByteBuffer) {
        self.request = request
        self.uid = uid
        self.gid = gid
        self.pid = pid
        self.headers = headers
        self.payload = payload
    }

    package init(flags: UInt8, reading body: inout FieldReader) throws(WireError) {
        request = try body.integer()
        uid = try body.integer()
        gid = try body.integer()
        pid = try body.integer()
        let headersLength: UInt16 = try body.integer()
        try body.skip(2)
        headers = ByteBuffer(bytes: try body.take(Int(headersLength)))
        payload = ByteBuffer(bytes: body.rest())
    }

    package func writeBody(to buffer: inout ByteBuffer) {
        buffer.writeLE(request)
        for field in [uid, gid, pid] { buffer.writeLE(field) }
        buffer.writeLE(UInt16(headers.readableBytes))
        buffer.writeLE(UInt16(0))
        buffer.writeImmutableBuffer(headers)
        buffer.writeImmutableBuffer(payload)
    }

    /// Appends a whole frame with parts in place.
    package static func append(
        request: UInt64, uid: UInt32, gid: UInt32, pid: UInt32, _ headers: UnsafeRawBufferPointer,
        _ payload: UnsafeRawBufferPointer, to buffer: inout ByteBuffer
    ) {
        buffer.writeFrame(kind) { buffer in
            buffer.writeLE(request)
            for field in [uid, gid, pid] { buffer.writeLE(field) }
            buffer.writeLE(UInt16(headers.count))
            buffer.writeLE(UInt16(0))
            buffer.writeBytes(headers)
            buffer.writeBytes(payload)
        }
    }
}
