package import NIOCore

/// Reports messages that the client dropped from its own buffer for a volatile subscription, for the daemon's
/// statistics. The daemon answers only if it refuses the report.
package struct Dropped: ControlFrame {
    package static let kind = FrameKind.dropped

    package var subscription: UInt32
    /// The number of messages dropped since the last report.
    package var messages: UInt64

    package init(subscription: UInt32, messages: UInt64) {
        self.subscription = subscription
        self.messages = messages
    }

    package init(flags: UInt8, reading body: inout FieldReader) throws(WireError) {
        subscription = try body.integer()
        try body.skip(4)
        messages = try body.integer()
    }

    package func writeBody(to buffer: inout ByteBuffer) {
        buffer.writeLE(subscription)
        buffer.writeLE(UInt32(0))
        buffer.writeLE(messages)
    }
}
