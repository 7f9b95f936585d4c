package import NIOCore

/// Announces a value that lives as long as the connection. Read in place.
///
/// Body: request u64, grace u32 (ms), payload length u32, headers length u16, headers length of the will u16, name
/// length u8, object length u8, options u8 (1: take over, 2: will), one reserved byte; then name, object, headers and
/// payload, and headers and payload of the will. The answer is ``Announced`` or an error.
package struct Announce {
    package static let fixedSize = 24
    private static let takeoverFlag: UInt8 = 1
    private static let willFlag: UInt8 = 2

    package var request: UInt64
    /// The time that the value stays after its connection has ended, for the same client to announce it again, in
    /// milliseconds.
    package var graceMilliseconds: UInt32
    /// Whether to replace an announced value of another connection.
    package var takesOver: Bool
    /// The name, the object, the headers and the payload. A value has no message id.
    package var parts: MessageParts
    /// The will, in place; nil for none.
    package var will: Will?

    /// The content of the message that the daemon posts when the connection has ended.
    package struct Will {
        /// The headers, encoded as `HeaderList` describes.
        package var headers: UnsafeRawBufferPointer
        package var payload: UnsafeRawBufferPointer

        package init(headers: UnsafeRawBufferPointer, payload: UnsafeRawBufferPointer) {
            self.headers = headers
            self.payload = payload
        }
    }

    package init(
        request: UInt64, graceMilliseconds: UInt32 = 0, takesOver: Bool = false, parts: MessageParts, will: Will? = nil
    ) {
        self.request = request
        self.graceMilliseconds = graceMilliseconds
        self.takesOver = takesOver
        self.parts = parts
        self.will = will
    }

    /// Reads the layout, without checking the content of the parts, which point into the frame.
    package init(_ frame: FrameDecoder.Frame) throws(WireError) {
        let body = frame.body
        guard frame.flags == 0 else { throw .unknownFlags }
        guard body.count >= Self.fixedSize else { throw .truncated }
        let options = body[22]
        guard options & ~(Self.takeoverFlag | Self.willFlag) == 0 else { throw .unknownFlags }
        let payloadLength = Int(UInt32(littleEndian: body.loadUnaligned(fromByteOffset: 12, as: UInt32.self)))
        let headersLength = UInt16(littleEndian: body.loadUnaligned(fromByteOffset: 16, as: UInt16.self))
        let willHeadersLength = Int(UInt16(littleEndian: body.loadUnaligned(fromByteOffset: 18, as: UInt16.self)))
        let rest = body.slice(from: Self.fixedSize)
        let valueLength = Int(body[20]) + Int(body[21]) + Int(headersLength) + payloadLength
        guard valueLength + willHeadersLength <= rest.count else { throw .truncated }
        let parts = MessageParts(
            splitting: rest.slice(0, valueLength), nameLength: body[20], objectLength: body[21], messageIDLength: 0,
            headersLength: headersLength)
        guard let parts else { throw .truncated }
        self.parts = parts
        request = UInt64(littleEndian: body.loadUnaligned(as: UInt64.self))
        graceMilliseconds = UInt32(littleEndian: body.loadUnaligned(fromByteOffset: 8, as: UInt32.self))
        takesOver = options & Self.takeoverFlag != 0
        guard options & Self.willFlag != 0 else {
            guard valueLength == rest.count, willHeadersLength == 0 else { throw .malformedWill }
            return
        }
        let payloadStart = valueLength + willHeadersLength
        will = Will(
            headers: rest.slice(valueLength, payloadStart), payload: rest.slice(from: payloadStart))
    }

    /// Appends a whole frame. The parts must be within `Limits`.
    package func append(to buffer: inout ByteBuffer) {
        buffer.writeFrame(.announce) { buffer in
            buffer.writeLE(request)
            buffer.writeLE(graceMilliseconds)
            buffer.writeLE(UInt32(parts.payload.count))
            buffer.writeLE(UInt16(parts.headers.count))
            buffer.writeLE(UInt16(will?.headers.count ?? 0))
            buffer.writeInteger(UInt8(parts.name.count))
            buffer.writeInteger(UInt8(parts.object.count))
            buffer.writeInteger((takesOver ? Self.takeoverFlag : 0) | (will == nil ? 0 : Self.willFlag))
            buffer.writeInteger(UInt8(0))
            for part in [parts.name, parts.object, parts.headers, parts.payload] { buffer.writeBytes(part) }
            guard let will else { return }
            buffer.writeBytes(will.headers)
            buffer.writeBytes(will.payload)
        }
    }
}

extension WireError {
    fileprivate static let malformedWill = WireError(.malformedFrame, "bytes follow a value without a will")
}

/// The answer to ``Announce``: the value is announced.
package struct Announced: ReplyFrame {
    package static let kind = FrameKind.announced

    package var request: UInt64
    /// The sequence of the message that announces the value, which is the revision of the value.
    package var sequence: UInt64
    /// The number of connections with matching volatile subscriptions.
    package var subscribers: UInt32

    package init(request: UInt64, sequence: UInt64, subscribers: UInt32) {
        self.request = request
        self.sequence = sequence
        self.subscribers = subscribers
    }

    package init(flags: UInt8, reading body: inout FieldReader) throws(WireError) {
        request = try body.integer()
        sequence = try body.integer()
        subscribers = try body.integer()
        try body.skip(4)
    }

    package func writeBody(to buffer: inout ByteBuffer) {
        buffer.writeLE(request)
        buffer.writeLE(sequence)
        buffer.writeLE(subscribers)
        buffer.writeLE(UInt32(0))
    }
}

/// Clears a value that this connection has announced, without its will. The answer is ``ValuesCleared``.
package struct Withdraw: ControlFrame, RequestFrame {
    package typealias Reply = ValuesCleared
    package static let kind = FrameKind.withdraw

    package var request: UInt64
    package var name: String
    /// The object; empty for none.
    package var object: String
    /// The encoded headers of the message that clears the value, in addition to that with the reason.
    package var headers: [UInt8]
    package var isChange: Bool { true }

    package init(request: UInt64 = 0, name: String, object: String = "", headers: [UInt8] = []) {
        self.request = request
        self.name = name
        self.object = object
        self.headers = headers
    }

    package init(flags: UInt8, reading body: inout FieldReader) throws(WireError) {
        request = try body.integer()
        name = try body.countedString()
        object = try body.countedString()
        headers = Array(body.rest())
    }

    package func writeBody(to buffer: inout ByteBuffer) {
        buffer.writeLE(request)
        buffer.writeCounted(name)
        buffer.writeCounted(object)
        buffer.writeBytes(headers)
    }
}
