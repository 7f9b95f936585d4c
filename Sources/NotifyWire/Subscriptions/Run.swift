package import NIOCore

/// Announces that the next `count` deliver frames of the connection are for this durable subscription only.
///
/// Kind `run` announces messages that were never delivered before, kind `redelivery` messages that may have been
/// delivered before.
package struct Run: Equatable, Sendable {
    package static let frameSize = FrameHeader.size + 12

    package var subscription: UInt32
    package var count: UInt32
    package var isRedelivery: Bool
    /// The number of this delivery: 1 plus the recorded failures of each of the messages.
    package var delivery: UInt32

    package init(subscription: UInt32, count: UInt32, isRedelivery: Bool, delivery: UInt32 = 1) {
        self.subscription = subscription
        self.count = count
        self.isRedelivery = isRedelivery
        self.delivery = delivery
    }

    package init(_ frame: FrameDecoder.Frame) throws(WireError) {
        var reader = FieldReader(frame.body)
        subscription = try reader.integer()
        count = try reader.integer()
        delivery = try reader.integer()
        isRedelivery = frame.kind == FrameKind.redelivery.rawValue
        try reader.finish()
    }

    package func write(to buffer: inout ByteBuffer) {
        buffer.writeFrame(isRedelivery ? .redelivery : .run) { buffer in
            buffer.writeLE(subscription)
            buffer.writeLE(count)
            buffer.writeLE(delivery)
        }
    }
}
