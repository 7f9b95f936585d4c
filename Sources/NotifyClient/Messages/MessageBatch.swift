import NotifyWire

/// The messages of one subscription that arrived in one read, as the bytes of their deliver frames.
///
/// Several subscriptions may share the bytes. A batch keeps at most twice the bytes of its own messages alive.
final class MessageBatch: Sendable {
    struct Entry: Sendable {
        /// The offset of the frame's body in `bytes`.
        var offset: UInt32
        var length: UInt32
        var isRedelivered: Bool
        /// The number of the delivery to a durable subscription; 1 for other messages.
        var delivery: UInt32 = 1
    }

    static let headerBytes = FrameHeader.size

    let bytes: [UInt8]
    let entries: [Entry]
    /// The size of the frames of these messages, in bytes.
    let byteCount: Int
    /// For a durable subscription, its ledger and the value of `AcknowledgementState.epoch` at the time of delivery.
    private let acknowledgements: Acknowledgements?

    struct Acknowledgements: Sendable {
        let ledger: AcknowledgementLedger
        let epoch: UInt32
    }

    init(bytes: [UInt8], entries: [Entry], byteCount: Int, acknowledgements: Acknowledgements? = nil) {
        self.bytes = bytes
        self.entries = entries
        self.byteCount = byteCount
        self.acknowledgements = acknowledgements
    }

    /// The acknowledgements; nil for a volatile subscription, and in the child of a fork, where a lock may be held
    /// forever.
    private var answerable: Acknowledgements? { Fork.isChild ? nil : acknowledgements }

    /// Acknowledges a message. Has no effect on volatile subscriptions.
    func acknowledge(_ index: Int) {
        guard let acknowledgements = answerable else { return }
        acknowledgements.ledger.acknowledge(sequence(index), epoch: acknowledgements.epoch)
    }

    /// Rejects or gives back a message. Has no effect on volatile subscriptions.
    func reject(_ index: Int, _ outcome: Reject.Outcome, delay: Duration?, reason: String) {
        guard let acknowledgements = answerable else { return }
        let rejection = AcknowledgementState.Rejection(
            sequence: sequence(index), outcome: outcome, delayMicroseconds: delay.map(Self.limited),
            reason: reason.limited(toBytes: Limits.reasonBytes))
        acknowledgements.ledger.reject(
            rejection, delivery: entries[index].delivery, epoch: acknowledgements.epoch)
    }

    /// Extends the deadline of a message. Has no effect on volatile subscriptions.
    func extendDeadline(_ index: Int, by duration: Duration?) {
        guard let acknowledgements = answerable else { return }
        acknowledgements.ledger.extend(
            sequence(index), by: duration.map { max(1, Self.limited($0)) } ?? 0, delivery: entries[index].delivery,
            epoch: acknowledgements.epoch)
    }

    /// Must be called when a handler can take a message of a durable subscription; see
    /// `AcknowledgementState.handlerStarts`.
    func handlerStarts(_ index: Int) -> AcknowledgementState.HandlerStart {
        guard let acknowledgements else { return .stopped }
        return acknowledgements.ledger.handlerStarts(
            sequence(index), delivery: entries[index].delivery, epoch: acknowledgements.epoch)
    }

    /// Must be called when the handler of a message has ended; see `AcknowledgementLedger.handlerEnded`.
    func handlerEnded(_ answer: () -> Void) {
        acknowledgements?.ledger.handlerEnded(answer)
    }

    /// The microseconds of a duration, within the limits of the protocol.
    private static func limited(_ duration: Duration) -> UInt64 {
        min(max(duration, .zero).clampedMicroseconds, DurableSettingChanges.maximumSpan)
    }

    func withDelivery<Result>(_ index: Int, _ body: (Delivery) -> Result) -> Result {
        let entry = entries[index]
        return bytes.withUnsafeBytes { bytes in
            let start = Int(entry.offset)
            do {
                return try body(
                    Delivery(reading: UnsafeRawBufferPointer(rebasing: bytes[start..<start + Int(entry.length)])))
            } catch {
                // Frames are decoded before they are added to a batch, and its bytes never change.
                preconditionFailure("a frame in a batch can't be decoded: \(error)")
            }
        }
    }

    func sequence(_ index: Int) -> UInt64 {
        withDelivery(index) { $0.stamp.sequence }
    }
}
