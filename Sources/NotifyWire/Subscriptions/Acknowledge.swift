package import NIOCore

/// Acknowledges messages of a durable subscription. The daemon answers only if it refuses the acknowledgement.
package struct Acknowledge: ControlFrame {
    package static let kind = FrameKind.acknowledge

    package var subscription: UInt32
    /// The acknowledged ranges. A range may include sequences that were not delivered, but its last sequence must have
    /// been delivered.
    package var ranges: [SequenceRange]

    package init(subscription: UInt32, ranges: [SequenceRange]) {
        self.subscription = subscription
        self.ranges = ranges
    }

    package init(flags: UInt8, reading body: inout FieldReader) throws(WireError) {
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
