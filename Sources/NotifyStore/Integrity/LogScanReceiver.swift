import NIOCore
import NotifyLog
import NotifyWire

/// Receives the rows of a log that is scanned.
protocol LogScanReceiver: AnyObject {
    /// Receives a sound message.
    ///
    /// - Parameter frame: The message as a frame.
    func message(_ sequence: UInt64, frame: ByteBuffer) throws
    /// Receives the sequence of a damaged message.
    ///
    /// - Parameter name: The id of its name; nil if it is unknown.
    func lostMessage(_ sequence: UInt64, name: UInt32?)
    /// Receives the number of messages that the row of a segment counts, but that are missing in the range of the
    /// segment.
    func missingMessages(_ sequences: ClosedRange<UInt64>, count: UInt64)
    /// Receives a subscription, even if parts of its row are damaged.
    func subscription(_ row: SubscriptionRow)
    /// Receives a sound copy of a message.
    ///
    /// - Parameter body: The body of the message's frame.
    func redelivery(_ row: RedeliveryRow, body: UnsafeRawBufferPointer) throws
    /// Receives a sound value, or the mark of a cleared one.
    ///
    /// - Parameter row: The row with the content.
    func value(_ value: ValueRow, in row: PreparedStatement) throws
    /// Receives a sound row of deletions.
    func deletion(_ row: DeletionRow)
    /// Receives a range of sequences whose messages, if there are any, can't be read.
    func unreadableMessages(_ sequences: ClosedRange<Int64>)
}

extension LogScan {
    /// Passes a message to the receiver.
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
