package import NIOCore

/// Asks for the sequence at which a position of the log begins.
package struct Find: ControlFrame, RequestFrame {
    package typealias Reply = Found
    package static let kind = FrameKind.find

    package var request: UInt64
    package var position: LogPosition

    package init(request: UInt64 = 0, position: LogPosition) {
        self.request = request
        self.position = position
    }

    package init(flags: UInt8, reading body: inout FieldReader) throws(WireError) {
        request = try body.integer()
        let kind: UInt8 = try body.integer()
        try body.skip(7)
        position = try LogPosition(kind: kind, value: try body.integer())
    }

    package func writeBody(to buffer: inout ByteBuffer) {
        buffer.writeLE(request)
        buffer.writeInteger(position.encoded.kind)
        buffer.writeRepeatingByte(0, count: 7)
        buffer.writeLE(position.encoded.value)
    }
}

/// The answer to a `Find`.
package struct Found: ReplyFrame {
    package static let kind = FrameKind.found

    package var request: UInt64
    /// The first sequence at the position.
    package var sequence: UInt64
    /// The sequence of the last message that was stored, even if it was deleted since.
    package var last: UInt64

    package init(request: UInt64, sequence: UInt64, last: UInt64) {
        self.request = request
        self.sequence = sequence
        self.last = last
    }

    package init(flags: UInt8, reading body: inout FieldReader) throws(WireError) {
        request = try body.integer()
        sequence = try body.integer()
        last = try body.integer()
    }

    package func writeBody(to buffer: inout ByteBuffer) {
        for field in [request, sequence, last] { buffer.writeLE(field) }
    }
}
