package import NIOCore

/// Requests a stored message and its state in each durable subscription that matches it.
///
/// The answer is the message as a `PostEntry`, a `TraceEntry` for each durable subscription that matches it, and a
/// `ListEnd`. Clients without the right to manage everything get their user's subscriptions. If no message with this
/// sequence is stored, or the client may not read it, the answer is the error `unknownMessage`.
package struct TraceRequest: ControlFrame, RequestFrame {
    package typealias Reply = TraceReply
    package static let kind = FrameKind.trace

    package var request: UInt64
    package var sequence: UInt64

    package init(request: UInt64 = 0, sequence: UInt64) {
        self.request = request
        self.sequence = sequence
    }

    package init(flags: UInt8, reading body: inout FieldReader) throws(WireError) {
        request = try body.integer()
        sequence = try body.integer()
    }

    package func writeBody(to buffer: inout ByteBuffer) {
        buffer.writeLE(request)
        buffer.writeLE(sequence)
    }
}

/// A durable subscription whose filter matches the message of a trace, and the state of the message in it.
package struct TraceEntry: ControlFrame {
    package static let kind = FrameKind.traceEntry

    package enum State: UInt8, CaseIterable, Sendable {
        /// Still to be delivered, or delivered only in earlier attachments.
        case pending = 0
        /// Delivered to an attached client and not answered.
        case inFlight = 1
        /// Acknowledged, stored as a dead letter, or skipped because the policy did not let the owner receive the
        /// message.
        case acknowledged = 2
        /// The message was posted before the subscription began.
        case beforeStart = 3
        /// Pending or waiting, but the policy does not let the owner receive the message.
        case forbidden = 4
        /// The delivery failed, or the message was given back. The message waits for its next delivery.
        case waiting = 5
        /// The message was given up, and its dead letter is not stored yet.
        case deadLetter = 6
    }

    package var request: UInt64
    package var state: State
    /// Whether a client may have seen the message in an earlier attachment.
    package var mayHaveBeenSeen: Bool
    package var uid: UInt32
    /// The pid of the attached client; 0 if no client is attached.
    package var pid: UInt32
    /// The number of the attached client, as in `ClientEntry`; 0 if no client is attached.
    package var client: UInt64
    /// The number of failed deliveries.
    package var failures: UInt32
    /// The time of the next delivery, in microseconds since 1970; 0 if no time is set for it.
    package var nextMicroseconds: UInt64
    /// The reason of the last failed delivery; empty if no delivery failed, or if the reason is unknown.
    package var reason: String
    package var durableName: String

    package init(
        request: UInt64, state: State, mayHaveBeenSeen: Bool = false, uid: UInt32, pid: UInt32 = 0,
        client: UInt64 = 0, failures: UInt32 = 0, nextMicroseconds: UInt64 = 0, reason: String = "",
        durableName: String
    ) {
        self.request = request
        self.state = state
        self.mayHaveBeenSeen = mayHaveBeenSeen
        self.uid = uid
        self.pid = pid
        self.client = client
        self.failures = failures
        self.nextMicroseconds = nextMicroseconds
        self.reason = reason
        self.durableName = durableName
    }

    package init(flags: UInt8, reading body: inout FieldReader) throws(WireError) {
        request = try body.integer()
        uid = try body.integer()
        pid = try body.integer()
        client = try body.integer()
        guard let state = State(rawValue: try body.integer()) else {
            throw WireError(.malformedFrame, "unknown state in a trace")
        }
        self.state = state
        mayHaveBeenSeen = try body.integer() as UInt8 != 0
        durableName = try body.countedString()
        failures = try body.integer()
        nextMicroseconds = try body.integer()
        let reasonLength: UInt16 = try body.integer()
        reason = try body.string(Int(reasonLength))
    }

    package func writeBody(to buffer: inout ByteBuffer) {
        buffer.writeLE(request)
        buffer.writeLE(uid)
        buffer.writeLE(pid)
        buffer.writeLE(client)
        buffer.writeInteger(state.rawValue)
        buffer.writeInteger(UInt8(mayHaveBeenSeen ? 1 : 0))
        buffer.writeCounted(durableName)
        buffer.writeLE(failures)
        buffer.writeLE(nextMicroseconds)
        buffer.writeLE(UInt16(reason.utf8.count))
        buffer.writeString(reason)
    }
}

/// The reply to a trace.
package struct TraceReply: ReplyFrames {
    package var message: PostEntry?
    package var subscriptions: [TraceEntry] = []

    package static func add(_ frame: FrameDecoder.Frame, to received: inout Self?) throws(WireError) -> Bool {
        if received == nil { received = Self() }
        if frame.kind == ListEnd.kind.rawValue { return true }
        if frame.kind == PostEntry.kind.rawValue {
            received?.message = try PostEntry(frame)
        } else {
            received?.subscriptions.append(try TraceEntry(expecting: frame))
        }
        return false
    }
}
