package import NIOCore

/// A subscription, or the registration of a server, in the answer to a list.
package struct SubscriptionEntry: ListedEntry {
    package static let subject = ListSubject.subscriptions
    package static let kind = FrameKind.subscriptionEntry
    /// Flag bit 0: `behind` is known.
    package static let behindFlag: UInt8 = 1
    /// Flag bit 1: `behind` is an upper bound.
    package static let behindBoundFlag: UInt8 = 2

    package var request: UInt64
    package var uid: UInt32
    /// The pid of the client; 0 if no client is attached.
    package var pid: UInt32
    /// The number of the client, as in `ClientEntry`; 0 if no client is attached.
    package var client: UInt64
    /// Every message up to this sequence is acknowledged, or waits for its next delivery; 0 unless the subscription is
    /// durable.
    package var cursor: UInt64
    /// The number of stored messages that a durable subscription has not acknowledged; nil if not known yet, and unless
    /// the subscription is durable.
    package var behind: UInt64?
    /// Whether `behind` is an upper bound: some of the messages may be acknowledged, or might not match.
    package var isBehindUpperBound: Bool
    /// Messages acknowledged by the attached clients, since each of them attached.
    package var acknowledged: UInt64
    /// Messages delivered to the attached clients and not answered. For a server, the requests that it holds.
    package var unacknowledged: UInt32
    /// The number of requests that a server holds at most at the same time; 0 for a subscription.
    package var concurrency: UInt32
    /// The name of a durable subscription; empty for a volatile one and for a server.
    package var durableName: String
    package var object: String
    package var patterns: [String]

    package var flags: UInt8 {
        behind == nil ? 0 : Self.behindFlag | (isBehindUpperBound ? Self.behindBoundFlag : 0)
    }

    package init(
        request: UInt64, uid: UInt32, pid: UInt32 = 0, client: UInt64 = 0, cursor: UInt64 = 0, behind: UInt64? = nil,
        isBehindUpperBound: Bool = false, acknowledged: UInt64 = 0, unacknowledged: UInt32 = 0,
        concurrency: UInt32 = 0, durableName: String = "", object: String = "", patterns: [String]
    ) {
        self.request = request
        self.uid = uid
        self.pid = pid
        self.client = client
        self.cursor = cursor
        self.behind = behind
        self.isBehindUpperBound = isBehindUpperBound
        self.acknowledged = acknowledged
        self.unacknowledged = unacknowledged
        self.concurrency = concurrency
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
        let messages: UInt64 = try body.integer()
        behind = flags & Self.behindFlag == 0 ? nil : messages
        isBehindUpperBound = flags & Self.behindFlag != 0 && flags & Self.behindBoundFlag != 0
        acknowledged = try body.integer()
        unacknowledged = try body.integer()
        concurrency = try body.integer()
        (durableName, object, patterns) = try body.subscriptionTexts()
    }

    package func writeBody(to buffer: inout ByteBuffer) {
        buffer.writeLE(request)
        buffer.writeLE(uid)
        buffer.writeLE(pid)
        for field in [client, cursor, behind ?? 0, acknowledged] { buffer.writeLE(field) }
        buffer.writeLE(unacknowledged)
        buffer.writeLE(concurrency)
        buffer.writeSubscriptionTexts(durableName, object, patterns)
    }
}

// The last fields of an entry of a list: the lengths of the name and the object, the number of patterns, and the texts.

extension FieldReader {
    mutating func subscriptionTexts() throws(WireError) -> (durableName: String, object: String, patterns: [String]) {
        let durableNameLength: UInt8 = try integer()
        let objectLength: UInt8 = try integer()
        let patternCount: UInt8 = try integer()
        try skip(1)
        return (
            try string(Int(durableNameLength)), try string(Int(objectLength)), try countedStrings(patternCount)
        )
    }
}

extension ByteBuffer {
    mutating func writeSubscriptionTexts(_ durableName: String, _ object: String, _ patterns: [String]) {
        writeInteger(UInt8(durableName.utf8.count))
        writeInteger(UInt8(object.utf8.count))
        writeInteger(UInt8(patterns.count))
        writeInteger(UInt8(0))
        writeString(durableName)
        writeString(object)
        for pattern in patterns { writeCounted(pattern) }
    }
}
