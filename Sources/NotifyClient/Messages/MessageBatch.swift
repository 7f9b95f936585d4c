import NotifyWire

/// Messages that arrived together for one subscription: their deliver frames, back to back, and where each begins.
///
/// Several subscriptions may share the bytes. A batch pins at most twice the bytes that are its own.
final class MessageBatch: Sendable {
    struct Entry: Sendable {
        /// Of the frame's body in `bytes`.
        var offset: UInt32
        var length: UInt32
        var isRedelivered: Bool
    }

    static let headerBytes = FrameHeader.size

    let bytes: [UInt8]
    let entries: [Entry]
    /// Bytes of the frames that are its own.
    let byteCount: Int
    /// Where a durable subscription's messages are acknowledged.
    let ledger: AcknowledgementLedger?

    init(bytes: [UInt8], entries: [Entry], byteCount: Int, ledger: AcknowledgementLedger?) {
        self.bytes = bytes
        self.entries = entries
        self.byteCount = byteCount
        self.ledger = ledger
    }

    func withDelivery<Result>(_ index: Int, _ body: (Deliver) -> Result) -> Result {
        let entry = entries[index]
        return bytes.withUnsafeBytes { bytes in
            let start = Int(entry.offset)
            do {
                return try body(
                    Deliver(reading: UnsafeRawBufferPointer(rebasing: bytes[start..<start + Int(entry.length)])))
            } catch {
                // Only frames that could be read are taken into a batch, and its bytes never change.
                preconditionFailure("a frame in a batch is not readable: \(error)")
            }
        }
    }

    func sequence(_ index: Int) -> UInt64 {
        withDelivery(index) { $0.stamp.sequence }
    }
}
