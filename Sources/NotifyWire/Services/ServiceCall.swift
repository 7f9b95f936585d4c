package import NIOCore

/// A request that the daemon hands to a server. The server sends one ``Respond`` for it. Read in place.
///
/// Body: call u64, server u32, time left u32 (ms), time of the request u64 (µs since 1970), the asker's uid u32, gid u32
/// and pid u32, headers length u16, name length u8, one reserved byte; then name, headers, payload.
package struct ServiceCall {
    package static let fixedSize = 40

    /// Identifies the call on the connection. Not reused while the connection is open.
    package var call: UInt64
    package var server: UInt32
    /// The time left until the daemon ends the call, in milliseconds.
    package var timeoutMilliseconds: UInt32
    /// When and by whom the request was made. Its sequence is 0.
    package var stamp: Stamp
    package var parts: MessageParts

    package init(call: UInt64, server: UInt32, timeoutMilliseconds: UInt32, stamp: Stamp, parts: MessageParts) {
        self.call = call
        self.server = server
        self.timeoutMilliseconds = timeoutMilliseconds
        self.stamp = stamp
        self.parts = parts
    }

    /// Reads the layout, without checking the content of the parts, which point into the frame.
    package init(_ frame: FrameDecoder.Frame) throws(WireError) {
        let body = frame.body
        guard body.count >= Self.fixedSize else { throw .truncated }
        func integer<Value: FixedWidthInteger>(_ offset: Int) -> Value {
            Value(littleEndian: body.loadUnaligned(fromByteOffset: offset, as: Value.self))
        }
        let parts = MessageParts(
            splitting: body.slice(from: Self.fixedSize), nameLength: body[38], objectLength: 0, messageIDLength: 0,
            headersLength: integer(36))
        guard let parts else { throw .truncated }
        self.parts = parts
        call = integer(0)
        server = integer(8)
        timeoutMilliseconds = integer(12)
        stamp = Stamp(
            sequence: 0, timeMicroseconds: integer(16), uid: integer(24), gid: integer(28), pid: integer(32))
    }

    /// Appends a whole frame. The parts must be within `Limits`.
    package func append(to buffer: inout ByteBuffer) {
        buffer.writeFrame(.serviceCall) { buffer in
            buffer.writeLE(call)
            buffer.writeLE(server)
            buffer.writeLE(timeoutMilliseconds)
            buffer.writeLE(stamp.timeMicroseconds)
            for field in [stamp.uid, stamp.gid, stamp.pid] { buffer.writeLE(field) }
            buffer.writeLE(UInt16(parts.headers.count))
            buffer.writeInteger(UInt8(parts.name.count))
            buffer.writeInteger(UInt8(0))
            buffer.writeBytes(parts.name)
            buffer.writeBytes(parts.headers)
            buffer.writeBytes(parts.payload)
        }
    }

    /// The name of the request in an encoded frame.
    package static func name(inFrame frame: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        let body = frame.slice(from: FrameHeader.size)
        return body.slice(fixedSize, fixedSize + Int(body[38]))
    }

    /// Sets the fields that depend on the server in an encoded frame at the start of `frame`.
    package static func address(
        _ frame: inout ByteBuffer, call: UInt64, server: UInt32, timeoutMilliseconds: UInt32
    ) {
        let body = frame.readerIndex + FrameHeader.size
        frame.setInteger(call, at: body, endianness: .little)
        frame.setInteger(server, at: body + 8, endianness: .little)
        frame.setInteger(timeoutMilliseconds, at: body + 12, endianness: .little)
    }
}

/// Reports to a server that the response to a call is not awaited any more. The server stops if it can, and still sends
/// a ``Respond``, which is discarded: until then, the call counts towards its concurrency.
package struct ServiceCallEnded: ControlFrame {
    package static let kind = FrameKind.serviceCallEnded

    package var call: UInt64

    package init(call: UInt64) {
        self.call = call
    }

    package init(flags: UInt8, reading body: inout FieldReader) throws(WireError) {
        call = try body.integer()
    }

    package func writeBody(to buffer: inout ByteBuffer) {
        buffer.writeLE(call)
    }
}

/// The response of a server to a ``ServiceCall``. Read in place.
///
/// Body: call u64, outcome u8, one reserved byte, headers length u16; then headers, payload. Needs no answer.
package struct Respond {
    package static let fixedSize = 12

    package enum Outcome: UInt8, CaseIterable, Sendable {
        /// The headers and the payload are the reply.
        case replied = 0
        /// The payload is a text for the asker, which says why there is no reply.
        case failed = 1
        /// The server has not begun to process the request. Another server may get it.
        case returned = 2
    }

    package var call: UInt64
    package var outcome: Outcome
    package var headers: UnsafeRawBufferPointer
    package var payload: UnsafeRawBufferPointer

    package init(
        call: UInt64, outcome: Outcome, headers: UnsafeRawBufferPointer, payload: UnsafeRawBufferPointer
    ) {
        self.call = call
        self.outcome = outcome
        self.headers = headers
        self.payload = payload
    }

    /// Reads the layout, without checking the content of the parts, which point into the frame.
    package init(_ frame: FrameDecoder.Frame) throws(WireError) {
        let body = frame.body
        guard frame.flags == 0 else { throw .unknownFlags }
        guard body.count >= Self.fixedSize else { throw .truncated }
        guard let outcome = Outcome(rawValue: body[8]) else {
            throw WireError(
                .invalidArgument,
                "unknown outcome \(body[8]): expected 0 (replied), 1 (failed) or 2 (returned)")
        }
        let end = Self.fixedSize + Int(UInt16(littleEndian: body.loadUnaligned(fromByteOffset: 10, as: UInt16.self)))
        guard end <= body.count else { throw .truncated }
        self.outcome = outcome
        call = UInt64(littleEndian: body.loadUnaligned(as: UInt64.self))
        headers = body.slice(Self.fixedSize, end)
        payload = body.slice(from: end)
    }

    /// Appends a whole frame. The parts must be within `Limits`.
    package func append(to buffer: inout ByteBuffer) {
        buffer.writeFrame(.respond) { buffer in
            buffer.writeLE(call)
            buffer.writeInteger(outcome.rawValue)
            buffer.writeInteger(UInt8(0))
            buffer.writeLE(UInt16(headers.count))
            buffer.writeBytes(headers)
            buffer.writeBytes(payload)
        }
    }
}
