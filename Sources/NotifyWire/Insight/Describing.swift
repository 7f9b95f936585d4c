package import NIOCore

/// Asks for the description of a durable subscription.
package struct Describe: ControlFrame, RequestFrame {
    package typealias Reply = DurableDescription
    package static let kind = FrameKind.describe

    package var request: UInt64
    /// The owner of the subscription; ``Remove/ownUID`` for the client's own.
    package var uid: UInt32
    package var durableName: String

    package init(request: UInt64 = 0, uid: UInt32 = Remove.ownUID, durableName: String) {
        self.request = request
        self.uid = uid
        self.durableName = durableName
    }

    package init(flags: UInt8, reading body: inout FieldReader) throws(WireError) {
        request = try body.integer()
        uid = try body.integer()
        durableName = try body.countedString()
    }

    package func writeBody(to buffer: inout ByteBuffer) {
        buffer.writeLE(request)
        buffer.writeLE(uid)
        buffer.writeCounted(durableName)
    }
}

/// Describes a durable subscription: the answer to ``Describe``, ``CreateDurable``, ``Reset``, ``Edit`` and
/// ``Configure``.
package struct DurableDescription: ReplyFrame {
    package static let kind = FrameKind.durableDescription
    /// Flag bit 3: the time without a client is known. ``DurableEntry`` defines the other bits.
    package static let unusedFlag: UInt8 = 8
    /// Flag bit 5: the subscription already existed when the request was to create it.
    package static let existedFlag: UInt8 = 32
    /// Flag bit 6: see ``needsRoom``.
    package static let needsRoomFlag: UInt8 = 64

    /// The subscription as in the answer to a list.
    package var entry: DurableEntry
    package var settings: DurableSettings
    /// The time of creation, in microseconds since 1970; 0 if unknown.
    package var createdMicroseconds: UInt64
    /// The time of the last attachment with credit, in microseconds since 1970; 0 if there was none, or if unknown.
    package var attachedMicroseconds: UInt64
    /// The pid of the client that last attached with credit.
    package var attachedPID: UInt32
    /// The time without a client after which the subscription is removed, in microseconds; 0 if it is kept.
    package var expiryMicroseconds: UInt64
    /// The time without a client so far, in microseconds; nil if unknown.
    package var unusedMicroseconds: UInt64?
    /// The number of withheld messages: no attached client may receive them, but a client that attached earlier may.
    /// While no client is attached, the number of messages that at least one of the earlier clients may not receive.
    package var withheld: UInt32
    /// Whether the subscription already existed when the request was to create it.
    package var existed: Bool
    /// Whether failed messages can't become dead letters now, because the owner's dead letters use up the owner's
    /// share.
    package var needsRoom: Bool
    /// The last failed delivery; nil if none is known.
    package var lastFailure: Failure?
    /// The earliest time at which a message is delivered again, in microseconds since 1970; 0 if no message waits for a
    /// time.
    package var nextMicroseconds: UInt64

    /// A failed delivery.
    package struct Failure: Equatable, Sendable {
        package var sequence: UInt64
        /// The time of the failure, in microseconds since 1970; 0 if unknown, because the failure preceded the daemon's
        /// start.
        package var microseconds: UInt64
        /// The number of failures of the message, this one included.
        package var failures: UInt32
        /// The reason of the failure; empty if unknown.
        package var reason: String

        package init(sequence: UInt64, microseconds: UInt64, failures: UInt32, reason: String) {
            self.sequence = sequence
            self.microseconds = microseconds
            self.failures = failures
            self.reason = reason
        }
    }

    package var request: UInt64 { entry.request }
    package var flags: UInt8 {
        entry.flags | (unusedMicroseconds == nil ? 0 : Self.unusedFlag) | (existed ? Self.existedFlag : 0)
            | (needsRoom ? Self.needsRoomFlag : 0)
    }

    package init(
        _ entry: DurableEntry, settings: DurableSettings, createdMicroseconds: UInt64 = 0,
        attachedMicroseconds: UInt64 = 0,
        attachedPID: UInt32 = 0, expiryMicroseconds: UInt64 = 0, unusedMicroseconds: UInt64? = nil,
        withheld: UInt32 = 0, existed: Bool = false, needsRoom: Bool = false,
        lastFailure: Failure? = nil, nextMicroseconds: UInt64 = 0
    ) {
        self.entry = entry
        self.settings = settings
        self.createdMicroseconds = createdMicroseconds
        self.attachedMicroseconds = attachedMicroseconds
        self.attachedPID = attachedPID
        self.expiryMicroseconds = expiryMicroseconds
        self.unusedMicroseconds = unusedMicroseconds
        self.withheld = withheld
        self.existed = existed
        self.needsRoom = needsRoom
        self.lastFailure = lastFailure
        self.nextMicroseconds = nextMicroseconds
    }

    package init(flags: UInt8, reading body: inout FieldReader) throws(WireError) {
        entry = try DurableEntry(flags: flags, reading: &body)
        settings = try DurableSettings(reading: &body)
        createdMicroseconds = try body.integer()
        attachedMicroseconds = try body.integer()
        expiryMicroseconds = try body.integer()
        let unused: UInt64 = try body.integer()
        attachedPID = try body.integer()
        withheld = try body.integer()
        existed = flags & Self.existedFlag != 0
        needsRoom = flags & Self.needsRoomFlag != 0
        unusedMicroseconds = flags & Self.unusedFlag == 0 ? nil : unused
        let failures: UInt32 = try body.integer()
        nextMicroseconds = try body.integer()
        let sequence: UInt64 = try body.integer()
        let failed: UInt64 = try body.integer()
        let reasonLength: UInt16 = try body.integer()
        let reason = try body.string(Int(reasonLength))
        if sequence > 0 {
            lastFailure = Failure(sequence: sequence, microseconds: failed, failures: failures, reason: reason)
        }
    }

    package func writeBody(to buffer: inout ByteBuffer) {
        entry.writeBody(to: &buffer)
        settings.write(to: &buffer)
        for field in [createdMicroseconds, attachedMicroseconds, expiryMicroseconds, unusedMicroseconds ?? 0] {
            buffer.writeLE(field)
        }
        buffer.writeLE(attachedPID)
        buffer.writeLE(withheld)
        buffer.writeLE(lastFailure?.failures ?? 0)
        for field in [nextMicroseconds, lastFailure?.sequence ?? 0, lastFailure?.microseconds ?? 0] {
            buffer.writeLE(field)
        }
        let reason = lastFailure?.reason ?? ""
        buffer.writeLE(UInt16(reason.utf8.count))
        buffer.writeString(reason)
    }
}
