package import NIOCore

/// Announces that the next `count` deliver frames of the connection are for this subscription only. Their sequences are
/// not above the sequence in the subscription's ``Subscribed`` frame.
///
/// A snapshot's messages are never acknowledged. If the ``Subscribed`` frame announced a snapshot, one or more snapshot
/// frames follow. The last frame is marked and may be empty. If the connection ends before the last frame, the next
/// subscribe starts the snapshot again.
package struct Snapshot: ControlFrame {
    package static let kind = FrameKind.snapshot
    /// Flag bit 0: the snapshot ends with these messages.
    package static let lastFlag: UInt8 = 1

    package var subscription: UInt32
    package var count: UInt32
    package var isLast: Bool
    package var flags: UInt8 { isLast ? Self.lastFlag : 0 }

    package init(subscription: UInt32, count: UInt32, isLast: Bool) {
        self.subscription = subscription
        self.count = count
        self.isLast = isLast
    }

    package init(flags: UInt8, reading body: inout FieldReader) throws(WireError) {
        subscription = try body.integer()
        count = try body.integer()
        isLast = flags & Self.lastFlag != 0
    }

    package func writeBody(to buffer: inout ByteBuffer) {
        buffer.writeLE(subscription)
        buffer.writeLE(count)
    }
}
