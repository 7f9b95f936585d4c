package import NIOCore

/// Says that messages of a durable subscription are done with. Not answered unless it is wrong.
package struct Acknowledge: ControlFrame {
    package static let kind = FrameKind.acknowledge

    package var subscription: UInt32
    /// Sequences in between that were not delivered do no harm; the last one must have been.
    package var ranges: [SequenceRange]

    package init(subscription: UInt32, ranges: [SequenceRange]) {
        self.subscription = subscription
        self.ranges = ranges
    }

    package init(flags: UInt8, reading body: inout WireCursor) throws(WireError) {
        subscription = try body.integer()
        let count: UInt32 = try body.integer()
        guard count <= Limits.acknowledgedRangesPerFrame else {
            throw WireError(
                .limitReached, "an acknowledgement has at most \(Limits.acknowledgedRangesPerFrame) ranges")
        }
        ranges = []
        for _ in 0..<count {
            let range = SequenceRange(first: try body.integer(), last: try body.integer())
            guard range.first <= range.last else {
                throw WireError(.invalidArgument, "the range \(range.first) to \(range.last) ends before it begins")
            }
            ranges.append(range)
        }
    }

    package func writeBody(to buffer: inout ByteBuffer) {
        buffer.writeLE(subscription)
        buffer.writeLE(UInt32(ranges.count))
        for range in ranges {
            buffer.writeLE(range.first)
            buffer.writeLE(range.last)
        }
    }
}

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

/// The next `count` deliver frames of the connection are this durable subscription's, and nobody else's.
///
/// Under kind `run` they certainly were not seen before; under kind `redelivery` they may have been.
package struct Run: Equatable, Sendable {
    package static let frameSize = FrameHeader.size + 8

    package var subscription: UInt32
    package var count: UInt32
    package var isRedelivery: Bool

    package init(subscription: UInt32, count: UInt32, isRedelivery: Bool) {
        self.subscription = subscription
        self.count = count
        self.isRedelivery = isRedelivery
    }

    package init(_ frame: FrameDecoder.Frame) throws(WireError) {
        var cursor = WireCursor(frame.body)
        subscription = try cursor.integer()
        count = try cursor.integer()
        isRedelivery = frame.kind == FrameKind.redelivery.rawValue
        try cursor.finish()
    }

    package func write(to buffer: inout ByteBuffer) {
        buffer.writeFrame(isRedelivery ? .redelivery : .run) { buffer in
            buffer.writeLE(subscription)
            buffer.writeLE(count)
        }
    }
}

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
