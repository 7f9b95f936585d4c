package import NIOCore

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
