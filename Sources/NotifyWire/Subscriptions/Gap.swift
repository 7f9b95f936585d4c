package import NIOCore

/// A notice that a subscription missed messages, sent in their place.
package struct Gap: ControlFrame {
    package enum Reason: UInt8, Sendable {
        /// The connection was too slow, so messages of its volatile subscriptions were dropped.
        case tooSlow = 0
        /// Messages that a durable subscription had not acknowledged are no longer in the log: deleted by the retention
        /// policy or a purge, lost in a repair, or dropped because too many waited for a client that may receive them.
        case deleted = 1
        /// Stored messages of a durable subscription are damaged.
        case damaged = 2
        /// The messages waited for a client of a durable subscription that may receive them, and no such client is
        /// left.
        case forbidden = 3
    }

    package static let kind = FrameKind.gap

    package var reason: Reason
    /// Whether `dropped` also counts messages that were possibly not for the subscription, or delivered to it before.
    package var isUpperBound: Bool
    /// The subscription concerned; 0 for all volatile subscriptions of the connection that match the dropped messages.
    package var subscription: UInt32
    /// The number of messages dropped.
    package var dropped: UInt64
    /// The sequences of the first and the last dropped message.
    package var range: SequenceRange

    package init(
        reason: Reason = .tooSlow, isUpperBound: Bool = false, subscription: UInt32 = 0, dropped: UInt64,
        range: SequenceRange
    ) {
        self.reason = reason
        self.isUpperBound = isUpperBound
        self.subscription = subscription
        self.dropped = dropped
        self.range = range
    }

    package init(flags: UInt8, reading body: inout FieldReader) throws(WireError) {
        subscription = try body.integer()
        guard let reason = Reason(rawValue: try body.integer()) else {
            throw WireError(.malformedFrame, "unknown reason of a gap")
        }
        self.reason = reason
        let flags: UInt8 = try body.integer()
        isUpperBound = flags & 1 != 0
        try body.skip(2)
        dropped = try body.integer()
        range = SequenceRange(first: try body.integer(), last: try body.integer())
    }

    package func writeBody(to buffer: inout ByteBuffer) {
        buffer.writeLE(subscription)
        buffer.writeLE(reason.rawValue)
        buffer.writeLE(UInt8(isUpperBound ? 1 : 0))
        buffer.writeLE(UInt16(0))
        buffer.writeLE(dropped)
        buffer.writeLE(range.first)
        buffer.writeLE(range.last)
    }
}
