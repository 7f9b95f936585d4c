package import NIOCore

/// A notice that the daemon dropped messages of the connection's volatile subscriptions, sent in their place.
package struct Gap: ControlFrame {
    package static let kind = FrameKind.gap

    /// The subscription concerned; 0 for all volatile subscriptions of the connection that match the dropped messages.
    package var subscription: UInt32
    /// The number of messages dropped.
    package var dropped: UInt64
    /// The sequences of the first and the last dropped message.
    package var range: SequenceRange

    package init(subscription: UInt32 = 0, dropped: UInt64, range: SequenceRange) {
        self.subscription = subscription
        self.dropped = dropped
        self.range = range
    }

    package init(flags: UInt8, reading body: inout FieldReader) throws(WireError) {
        subscription = try body.integer()
        try body.skip(4)
        dropped = try body.integer()
        range = SequenceRange(first: try body.integer(), last: try body.integer())
    }

    package func writeBody(to buffer: inout ByteBuffer) {
        buffer.writeLE(subscription)
        buffer.writeLE(UInt32(0))
        buffer.writeLE(dropped)
        buffer.writeLE(range.first)
        buffer.writeLE(range.last)
    }
}
