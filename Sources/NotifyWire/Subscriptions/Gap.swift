package import NIOCore

/// Messages that the connection's volatile subscriptions missed. It stands where they would have stood.
package struct Gap: ControlFrame {
    package static let kind = FrameKind.gap

    /// 0: whichever volatile subscriptions of the connection matched them.
    package var subscription: UInt32
    /// How many messages.
    package var dropped: UInt64
    /// Sequences of the first and the last of them.
    package var range: SequenceRange

    package init(subscription: UInt32 = 0, dropped: UInt64, range: SequenceRange) {
        self.subscription = subscription
        self.dropped = dropped
        self.range = range
    }

    package init(flags: UInt8, reading body: inout WireCursor) throws(WireError) {
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
