package import NIOCore

/// Lets the daemon deliver more messages to a durable subscription that was opened with limited credit.
package struct Credit: ControlFrame {
    package static let kind = FrameKind.credit

    package var subscription: UInt32
    package var messages: UInt32

    package init(subscription: UInt32, messages: UInt32) {
        self.subscription = subscription
        self.messages = messages
    }

    package init(flags: UInt8, reading body: inout FieldReader) throws(WireError) {
        subscription = try body.integer()
        messages = try body.integer()
    }

    package func writeBody(to buffer: inout ByteBuffer) {
        buffer.writeLE(subscription)
        buffer.writeLE(messages)
    }
}
