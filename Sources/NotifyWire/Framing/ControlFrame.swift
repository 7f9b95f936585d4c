package import NIOCore

/// A frame that is decoded into a value and encoded from it. Posts and deliveries, the bulk of the traffic, are read in
/// place instead.
package protocol ControlFrame: Equatable, Sendable {
    static var kind: FrameKind { get }
    /// The flags in the frame's header; 0 by default.
    var flags: UInt8 { get }
    /// Reads the fields of the body. `body` covers the whole body; the caller checks that nothing is left.
    init(flags: UInt8, reading body: inout FieldReader) throws(WireError)
    /// Writes the body.
    func writeBody(to buffer: inout ByteBuffer)
}

extension ControlFrame {
    package var flags: UInt8 { 0 }

    /// Reads a frame of this kind. The body must have exactly the fields of the kind.
    ///
    /// No control frame to the daemon defines flags yet. A frame that sets a flag asks for a later feature and is
    /// refused. Unknown flags are ignored in a hello, which negotiates the version, and in frames from the daemon.
    ///
    /// - Throws: `unsupported` for unknown flags, `malformedFrame` for a body that is too short or too long, and errors
    ///   of the kind's own `init(flags:reading:)`.
    package init(_ frame: FrameDecoder.Frame) throws(WireError) {
        guard frame.flags == 0 || Self.kind == .hello || Self.kind.isFromDaemon else { throw .unknownFlags }
        var reader = FieldReader(frame.body)
        try self.init(flags: frame.flags, reading: &reader)
        try reader.finish()
    }

    package func write(to buffer: inout ByteBuffer) {
        buffer.writeFrame(Self.kind, flags: flags) { writeBody(to: &$0) }
    }
}

/// A frame whose body is only a request number.
package protocol BareFrame: ControlFrame {
    var request: UInt64 { get }
    init(request: UInt64)
}

extension BareFrame {
    package init(flags: UInt8, reading body: inout FieldReader) throws(WireError) {
        self.init(request: try body.integer())
    }

    package func writeBody(to buffer: inout ByteBuffer) {
        buffer.writeLE(request)
    }
}

/// A frame whose body is only a request number and a subscription.
package protocol SubscriptionFrame: ControlFrame {
    var request: UInt64 { get }
    var subscription: UInt32 { get }
    init(request: UInt64, subscription: UInt32)
}

extension SubscriptionFrame {
    package init(flags: UInt8, reading body: inout FieldReader) throws(WireError) {
        self.init(request: try body.integer(), subscription: try body.integer())
    }

    package func writeBody(to buffer: inout ByteBuffer) {
        buffer.writeLE(request)
        buffer.writeLE(subscription)
    }
}

extension String {
    /// The text, or its beginning and an ellipsis if the text is longer than 65,535 bytes, the most that a length of
    /// two bytes can express.
    var limitedToCountedText: String {
        utf8.count <= Int(UInt16.max) ? self : String(decoding: utf8.prefix(60_000), as: UTF8.self) + "…"
    }
}

extension ByteBuffer {
    mutating func writeLE<Value: FixedWidthInteger>(_ value: Value) {
        writeInteger(value, endianness: .little)
    }

    /// Writes a string, preceded by its length in one byte. Traps above 255 bytes: callers check `Limits` first.
    mutating func writeCounted(_ text: String) {
        writeInteger(UInt8(text.utf8.count))
        writeString(text)
    }
}
