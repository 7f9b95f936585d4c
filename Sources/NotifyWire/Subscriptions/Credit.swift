package import NIOCore

/// Lets the daemon hand over more durable messages to a subscription that was opened with a bound.
package struct Credit: ControlFrame {
    package static let kind = FrameKind.credit

    package var subscription: UInt32
    package var messages: UInt32

    package init(subscription: UInt32, messages: UInt32) {
        self.subscription = subscription
        self.messages = messages
    }

    package init(flags: UInt8, reading body: inout WireCursor) throws(WireError) {
        subscription = try body.integer()
        messages = try body.integer()
    }

    package func writeBody(to buffer: inout ByteBuffer) {
        buffer.writeLE(subscription)
        buffer.writeLE(messages)
    }
}
