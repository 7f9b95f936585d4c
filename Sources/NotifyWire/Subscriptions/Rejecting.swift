package import NIOCore

/// Rejects a message of a durable subscription, because the client has not processed it. The daemon answers only if it
/// refuses the frame.
package struct Reject: ControlFrame {
    package static let kind = FrameKind.reject

    package enum Outcome: UInt8, CaseIterable, Sendable {
        /// The delivery counts as failed. After the last permitted delivery the message becomes a dead letter.
        case failed = 0
        /// The delivery does not count.
        case returned = 1
        /// The message becomes a dead letter at once.
        case dead = 2
    }

    package var subscription: UInt32
    package var outcome: Outcome
    package var sequence: UInt64
    /// The time until the next delivery, in microseconds; nil for the next delay of the subscription's settings.
    package var delayMicroseconds: UInt64?
    /// The number of the delivery that failed. If the message was delivered again since, the frame is ignored. 0 for
    /// the latest delivery.
    package var delivery: UInt32
    /// The reason why the message was not processed; at most ``Limits/reasonBytes`` bytes. Empty if unknown.
    package var reason: String

    package init(
        subscription: UInt32, sequence: UInt64, outcome: Outcome = .failed, delayMicroseconds: UInt64? = nil,
        delivery: UInt32 = 0, reason: String = ""
    ) {
        self.subscription = subscription
        self.outcome = outcome
        self.sequence = sequence
        self.delayMicroseconds = delayMicroseconds
        self.delivery = delivery
        self.reason = reason
    }

    package init(flags: UInt8, reading body: inout FieldReader) throws(WireError) {
        subscription = try body.integer()
        let kind: UInt8 = try body.integer()
        try body.skip(1)
        let reasonLength: UInt16 = try body.integer()
        sequence = try body.integer()
        let delay: UInt64 = try body.integer()
        delivery = try body.integer()
        try body.skip(4)
        reason = try body.string(Int(reasonLength))
        guard let outcome = Outcome(rawValue: kind) else {
            throw WireError(.unsupported, "unknown outcome \(kind): expected 0 (failed), 1 (returned) or 2 (dead)")
        }
        self.outcome = outcome
        delayMicroseconds = delay == .max ? nil : delay
        guard delay == .max || delay <= DurableSettingChanges.maximumSpan else {
            throw WireError(.invalidArgument, "a delay of \(delay) µs until the next delivery is over 30 days")
        }
        guard reason.utf8.count <= Limits.reasonBytes else {
            throw WireError(
                .invalidArgument, "a reason of \(reason.utf8.count) bytes is over the limit of \(Limits.reasonBytes)")
        }
    }

    package func writeBody(to buffer: inout ByteBuffer) {
        buffer.writeLE(subscription)
        buffer.writeInteger(outcome.rawValue)
        buffer.writeInteger(UInt8(0))
        buffer.writeLE(UInt16(reason.utf8.count))
        buffer.writeLE(sequence)
        buffer.writeLE(delayMicroseconds ?? .max)
        buffer.writeLE(delivery)
        buffer.writeLE(UInt32(0))
        buffer.writeString(reason)
    }
}

/// Postpones the deadline of messages that the client is still processing. The daemon answers only if it refuses the
/// frame.
package struct Extend: ControlFrame {
    package static let kind = FrameKind.extend

    package var subscription: UInt32
    /// The sequences of the messages, at most ``Limits/acknowledgedRangesPerFrame``. Messages that the client does not
    /// hold are ignored.
    package var sequences: [UInt64]
    /// The time from now to the new deadline, in microseconds; 0 for the deadline of the subscription's settings.
    package var microseconds: UInt64

    package init(subscription: UInt32, sequences: [UInt64], microseconds: UInt64 = 0) {
        self.subscription = subscription
        self.sequences = sequences
        self.microseconds = microseconds
    }

    package init(flags: UInt8, reading body: inout FieldReader) throws(WireError) {
        subscription = try body.integer()
        let count: UInt32 = try body.integer()
        microseconds = try body.integer()
        guard count <= Limits.acknowledgedRangesPerFrame else {
            throw WireError(
                .limitReached, "deadlines of at most \(Limits.acknowledgedRangesPerFrame) messages are extended at once"
            )
        }
        guard microseconds <= DurableSettingChanges.maximumSpan else {
            throw WireError(.invalidArgument, "a deadline of \(microseconds) µs is over 30 days")
        }
        sequences = []
        for _ in 0..<count { sequences.append(try body.integer()) }
    }

    package func writeBody(to buffer: inout ByteBuffer) {
        buffer.writeLE(subscription)
        buffer.writeLE(UInt32(sequences.count))
        buffer.writeLE(microseconds)
        for sequence in sequences { buffer.writeLE(sequence) }
    }
}
