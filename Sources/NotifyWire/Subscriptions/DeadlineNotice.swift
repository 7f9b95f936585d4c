package import NIOCore

/// Reports the deadline of a durable subscription to an attached client. Sent when the deadline or the maximum of
/// deliveries has changed.
package struct DeadlineNotice: ControlFrame {
    package static let kind = FrameKind.deadline

    package var subscription: UInt32
    /// The deadline, in microseconds; 0 for none.
    package var microseconds: UInt64

    package init(subscription: UInt32, microseconds: UInt64) {
        self.subscription = subscription
        self.microseconds = microseconds
    }

    package init(flags: UInt8, reading body: inout FieldReader) throws(WireError) {
        subscription = try body.integer()
        _ = try body.integer() as UInt32
        microseconds = try body.integer()
    }

    package func writeBody(to buffer: inout ByteBuffer) {
        buffer.writeLE(subscription)
        buffer.writeLE(UInt32(0))
        buffer.writeLE(microseconds)
    }
}
