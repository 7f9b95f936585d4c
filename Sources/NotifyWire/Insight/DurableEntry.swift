package import NIOCore

/// A durable subscription in the answer to a list, with its unacknowledged messages.
package struct DurableEntry: ListedEntry {
    package static let subject = ListSubject.backlogs
    package static let kind = FrameKind.durableEntry
    /// Flag bit 0: the unacknowledged messages are known.
    package static let pendingFlag: UInt8 = 1
    /// Flag bit 1: the number of unacknowledged messages is an upper bound.
    package static let pendingBoundFlag: UInt8 = 2
    /// Flag bit 2: the number of lost messages is an upper bound.
    package static let lostBoundFlag: UInt8 = 4
    /// Flag bit 4: several clients share the subscription. ``DurableDescription`` defines the other bits.
    package static let groupFlag: UInt8 = 16

    /// The unacknowledged messages of a subscription.
    package struct Pending: Equatable, Sendable {
        package var messages: UInt64
        package var bytes: UInt64
        /// The time of the oldest message, in microseconds since 1970; 0 if there is none.
        package var oldestMicroseconds: UInt64
        /// Whether there may be fewer messages.
        package var isUpperBound: Bool

        package init(messages: UInt64, bytes: UInt64, oldestMicroseconds: UInt64, isUpperBound: Bool = false) {
            self.messages = messages
            self.bytes = bytes
            self.oldestMicroseconds = oldestMicroseconds
            self.isUpperBound = isUpperBound
        }
    }

    package var request: UInt64
    package var uid: UInt32
    package var sharing: DurableSharing
    /// The pid of the client, or of the first member of a group; 0 if no client is attached.
    package var pid: UInt32
    /// The number of the client, as in `ClientEntry`; 0 if no client is attached.
    package var client: UInt64
    /// Every message up to this sequence is acknowledged, or waits for its next delivery.
    package var cursor: UInt64
    /// The number of messages that were deleted before they were acknowledged.
    package var lost: UInt64
    /// Whether fewer messages may be lost.
    package var isLostUpperBound: Bool
    /// Messages delivered to the attached clients and not answered.
    package var inFlight: UInt32
    /// The number of attached clients.
    package var members: UInt32
    /// Messages that failed or were given back, and wait for their next delivery.
    package var waiting: UInt32
    /// The unacknowledged messages; nil if not known yet.
    package var pending: Pending?
    package var durableName: String
    package var object: String
    package var patterns: [String]

    package var flags: UInt8 {
        (pending == nil ? 0 : Self.pendingFlag) | (pending?.isUpperBound ?? false ? Self.pendingBoundFlag : 0)
            | (isLostUpperBound ? Self.lostBoundFlag : 0) | (sharing == .group ? Self.groupFlag : 0)
    }

    package init(
        request: UInt64, uid: UInt32, pid: UInt32 = 0, client: UInt64 = 0, cursor: UInt64 = 0,
        lost: UInt64 = 0, isLostUpperBound: Bool = false, inFlight: UInt32 = 0, members: UInt32 = 0,
        waiting: UInt32 = 0, sharing: DurableSharing = .exclusive, pending: Pending? = nil, durableName: String,
        object: String = "", patterns: [String]
    ) {
        self.request = request
        self.uid = uid
        self.pid = pid
        self.client = client
        self.cursor = cursor
        self.lost = lost
        self.isLostUpperBound = isLostUpperBound
        self.inFlight = inFlight
        self.members = members
        self.waiting = waiting
        self.sharing = sharing
        self.pending = pending
        self.durableName = durableName
        self.object = object
        self.patterns = patterns
    }

    package init(flags: UInt8, reading body: inout FieldReader) throws(WireError) {
        request = try body.integer()
        uid = try body.integer()
        pid = try body.integer()
        client = try body.integer()
        cursor = try body.integer()
        lost = try body.integer()
        let messages: UInt64 = try body.integer()
        let bytes: UInt64 = try body.integer()
        let oldest: UInt64 = try body.integer()
        inFlight = try body.integer()
        members = try body.integer()
        waiting = try body.integer()
        sharing = flags & Self.groupFlag == 0 ? .exclusive : .group
        (durableName, object, patterns) = try body.subscriptionTexts()
        isLostUpperBound = flags & Self.lostBoundFlag != 0
        if flags & Self.pendingFlag != 0 {
            pending = Pending(
                messages: messages, bytes: bytes, oldestMicroseconds: oldest,
                isUpperBound: flags & Self.pendingBoundFlag != 0)
        }
    }

    package func writeBody(to buffer: inout ByteBuffer) {
        buffer.writeLE(request)
        buffer.writeLE(uid)
        buffer.writeLE(pid)
        for field in [
            client, cursor, lost, pending?.messages ?? 0, pending?.bytes ?? 0, pending?.oldestMicroseconds ?? 0,
        ] {
            buffer.writeLE(field)
        }
        buffer.writeLE(inFlight)
        buffer.writeLE(members)
        buffer.writeLE(waiting)
        buffer.writeSubscriptionTexts(durableName, object, patterns)
    }
}
