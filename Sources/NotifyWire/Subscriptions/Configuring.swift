package import NIOCore

/// Changes settings of a durable subscription. The answer is a ``DurableDescription``.
package struct Configure: ControlFrame, RequestFrame {
    package typealias Reply = DurableDescription
    package static let kind = FrameKind.configure

    package var request: UInt64
    /// The owner of the subscription; ``Remove/ownUID`` for the client's own.
    package var uid: UInt32
    package var durableName: String
    package var changes: DurableSettingChanges
    package var isChange: Bool { true }

    package init(
        request: UInt64 = 0, uid: UInt32 = Remove.ownUID, durableName: String, changes: DurableSettingChanges
    ) {
        self.request = request
        self.uid = uid
        self.durableName = durableName
        self.changes = changes
    }

    package init(flags: UInt8, reading body: inout FieldReader) throws(WireError) {
        request = try body.integer()
        uid = try body.integer()
        let nameLength: UInt8 = try body.integer()
        try body.skip(3)
        durableName = try body.string(Int(nameLength))
        changes = try DurableSettingChanges(reading: &body)
    }

    package func writeBody(to buffer: inout ByteBuffer) {
        buffer.writeLE(request)
        buffer.writeLE(uid)
        buffer.writeInteger(UInt8(durableName.utf8.count))
        buffer.writeRepeatingByte(0, count: 3)
        buffer.writeString(durableName)
        changes.write(to: &buffer)
    }
}

/// Delivers dead letters again, or deletes them.
package struct DeadLetters: ControlFrame, RequestFrame {
    package typealias Reply = DeadLettersDone
    package static let kind = FrameKind.deadLetters

    package enum Action: UInt8, CaseIterable, Sendable {
        /// Delivers the original message of each dead letter to its durable subscription only, with no failures
        /// recorded.
        case retry = 0
        case purge = 1
    }

    package var request: UInt64
    /// The owner of the durable subscriptions; ``Remove/ownUID`` for the client's own.
    package var uid: UInt32
    package var action: Action
    /// The durable subscription; empty for all.
    package var durableName: String
    /// The sequences of the dead letters, ascending, at most ``Limits/deadLettersPerFrame``; empty for all.
    package var sequences: [UInt64]
    package var isChange: Bool { true }
    package var replyTime: ReplyTime { .long }

    package init(
        request: UInt64 = 0, uid: UInt32 = Remove.ownUID, action: Action, durableName: String = "",
        sequences: [UInt64] = []
    ) {
        self.request = request
        self.uid = uid
        self.action = action
        self.durableName = durableName
        self.sequences = sequences
    }

    package init(flags: UInt8, reading body: inout FieldReader) throws(WireError) {
        request = try body.integer()
        uid = try body.integer()
        let kind: UInt8 = try body.integer()
        let nameLength: UInt8 = try body.integer()
        let count: UInt16 = try body.integer()
        guard let action = Action(rawValue: kind) else {
            throw WireError(.unsupported, "unknown action \(kind) on dead letters: expected 0 (retry) or 1 (purge)")
        }
        self.action = action
        guard count <= Limits.deadLettersPerFrame else {
            throw WireError(.limitReached, "a request names at most \(Limits.deadLettersPerFrame) dead letters")
        }
        durableName = try body.string(Int(nameLength))
        sequences = []
        for _ in 0..<count {
            let sequence: UInt64 = try body.integer()
            guard sequence > sequences.last ?? 0 else {
                throw WireError(.invalidArgument, "the sequences of dead letters are not in ascending order")
            }
            sequences.append(sequence)
        }
    }

    package func writeBody(to buffer: inout ByteBuffer) {
        buffer.writeLE(request)
        buffer.writeLE(uid)
        buffer.writeInteger(action.rawValue)
        buffer.writeInteger(UInt8(durableName.utf8.count))
        buffer.writeLE(UInt16(sequences.count))
        buffer.writeString(durableName)
        for sequence in sequences { buffer.writeLE(sequence) }
    }
}

/// The answer to ``DeadLetters``: the changes are in the log.
package struct DeadLettersDone: ReplyFrame {
    package static let kind = FrameKind.deadLettersDone

    package var request: UInt64
    /// The number of dead letters that were delivered again or deleted.
    package var messages: UInt64
    /// The number of dead letters that stay, because their durable subscription can't take the message: for example, it
    /// does not exist, has no room, or no longer matches the message.
    package var kept: UInt64

    package init(request: UInt64, messages: UInt64, kept: UInt64 = 0) {
        self.request = request
        self.messages = messages
        self.kept = kept
    }

    package init(flags: UInt8, reading body: inout FieldReader) throws(WireError) {
        request = try body.integer()
        messages = try body.integer()
        kept = try body.integer()
    }

    package func writeBody(to buffer: inout ByteBuffer) {
        for field in [request, messages, kept] { buffer.writeLE(field) }
    }
}
