package import NIOCore

/// A frame that is read and written whole, by value. Posts and deliveries, which are many, are read in place instead.
package protocol ControlFrame: Equatable, Sendable {
    static var kind: FrameKind { get }
    /// Goes into the frame's header.
    var flags: UInt8 { get }
    /// Reads the body; `body` is all of it.
    init(flags: UInt8, reading body: inout WireCursor) throws(WireError)
    /// Writes the body.
    func writeBody(to buffer: inout ByteBuffer)
}

extension ControlFrame {
    package var flags: UInt8 { 0 }

    /// Reads a frame of this kind, and nothing but it.
    ///
    /// No request has flags yet. One that has asks for something newer, and is refused rather than half understood;
    /// the greeting, where versions are settled, and what the daemon sends are read without those flags.
    package init(_ frame: FrameDecoder.Frame) throws(WireError) {
        guard frame.flags == 0 || Self.kind == .hello || Self.kind.isFromDaemon else { throw .unknownFlags }
        var cursor = WireCursor(frame.body)
        try self.init(flags: frame.flags, reading: &cursor)
        try cursor.finish()
    }

    package func write(to buffer: inout ByteBuffer) {
        buffer.writeFrame(Self.kind, flags: flags) { writeBody(to: &$0) }
    }
}

/// A frame that carries its request and nothing else.
package protocol RequestFrame: ControlFrame {
    var request: UInt64 { get }
    init(request: UInt64)
}

extension RequestFrame {
    package init(flags: UInt8, reading body: inout WireCursor) throws(WireError) {
        self.init(request: try body.integer())
    }

    package func writeBody(to buffer: inout ByteBuffer) {
        buffer.writeLE(request)
    }
}

/// A frame that carries its request, a subscription and nothing else.
package protocol SubscriptionFrame: ControlFrame {
    var request: UInt64 { get }
    var subscription: UInt32 { get }
    init(request: UInt64, subscription: UInt32)
}

extension SubscriptionFrame {
    package init(flags: UInt8, reading body: inout WireCursor) throws(WireError) {
        self.init(request: try body.integer(), subscription: try body.integer())
    }

    package func writeBody(to buffer: inout ByteBuffer) {
        buffer.writeLE(request)
        buffer.writeLE(subscription)
    }
}

extension ByteBuffer {
    mutating func writeLE<Value: FixedWidthInteger>(_ value: Value) {
        writeInteger(value, endianness: .little)
    }

    /// A string behind a length of one byte. Longer strings are cut by no one: callers keep to `Limits`.
    mutating func writeCounted(_ text: String) {
        writeInteger(UInt8(text.utf8.count))
        writeString(text)
    }
}
