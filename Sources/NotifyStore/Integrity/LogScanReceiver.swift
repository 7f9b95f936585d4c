import NIOCore
import NotifyLog
import NotifyWire

/// Receives the rows of a log that is scanned.
protocol LogScanReceiver: AnyObject {
    /// A message whose content is as it was posted.
    ///
    /// - Parameter frame: The message as a frame.
    func message(_ sequence: UInt64, frame: ByteBuffer) throws
    /// A damaged message.
    ///
    /// - Parameter name: The id of its name; nil if it is unknown.
    func lostMessage(_ sequence: UInt64, name: UInt32?)
    /// A sound segment has fewer messages than it counts.
    func missingMessages(_ sequences: ClosedRange<UInt64>, count: UInt64)
    /// A subscription, also if parts of its row are damaged.
    func subscription(_ row: SubscriptionRow)
    /// A sound copy of a message.
    ///
    /// - Parameter body: The body of the message's frame.
    func redelivery(_ row: RedeliveryRow, body: UnsafeRawBufferPointer) throws
    /// A sound row of deletions.
    func deletion(_ row: DeletionRow)
    func unreadableMessages(_ sequences: ClosedRange<Int64>)
}

extension LogScan {
    /// Passes on a message.
    func received(_ sequence: UInt64, frame: ByteBuffer) throws {
        highest = max(highest, sequence)
        try receiver?.message(sequence, frame: frame)
    }

    func lost(_ sequence: UInt64, name: UInt32?) { receiver?.lostMessage(sequence, name: name) }
    func missing(_ sequences: ClosedRange<UInt64>, count: UInt64) {
        receiver?.missingMessages(sequences, count: count)
    }
    func unreadable(_ sequences: ClosedRange<Int64>) { receiver?.unreadableMessages(sequences) }
}
