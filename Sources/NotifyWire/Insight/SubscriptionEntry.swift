package import NIOCore

/// A subscription in the answer to a list.
package struct SubscriptionEntry: ControlFrame {
    package static let kind = FrameKind.subscriptionEntry

    package var request: UInt64
    package var uid: UInt32
    /// The pid of the client; 0 if no client is attached.
    package var pid: UInt32
    /// The number of the client, as in `ClientEntry`; 0 if no client is attached.
    package var client: UInt64
    /// Every message up to this sequence is acknowledged; 0 for a volatile subscription.
    package var cursor: UInt64
    /// The number of sequences from the subscription's position in the log to the log's end. An upper bound of the
    /// stored messages still to be delivered.
    package var behind: UInt64
    /// Messages acknowledged in this attachment.
    package var acknowledged: UInt64
    /// Messages delivered in this attachment and not acknowledged.
    package var unacknowledged: UInt32
    /// Empty for a volatile subscription.
    package var durableName: String
    package var object: String
    package var patterns: [String]

    package init(
        request: UInt64, uid: UInt32, pid: UInt32 = 0, client: UInt64 = 0, cursor: UInt64 = 0, behind: UInt64 = 0,
        acknowledged: UInt64 = 0, unacknowledged: UInt32 = 0, durableName: String = "", object: String = "",
        patterns: [String]
    ) {
        self.request = request
        self.uid = uid
        self.pid = pid
        self.client = client
        self.cursor = cursor
        self.behind = behind
        self.acknowledged = acknowledged
        self.unacknowledged = unacknowledged
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
        behind = try body.integer()
        acknowledged = try body.integer()
        unacknowledged = try body.integer()
        let durableNameLength: UInt8 = try body.integer()
        let objectLength: UInt8 = try body.integer()
        let patternCount: UInt8 = try body.integer()
        try body.skip(1)
        durableName = try body.string(Int(durableNameLength))
        object = try body.string(Int(objectLength))
        patterns = []
        for _ in 0..<patternCount {
            let length: UInt8 = try body.integer()
            patterns.append(try body.string(Int(length)))
        }
    }

    package func writeBody(to buffer: inout ByteBuffer) {
        buffer.writeLE(request)
        buffer.writeLE(uid)
        buffer.writeLE(pid)
        for field in [client, cursor, behind, acknowledged] { buffer.writeLE(field) }
        buffer.writeLE(unacknowledged)
        buffer.writeInteger(UInt8(durableName.utf8.count))
        buffer.writeInteger(UInt8(object.utf8.count))
        buffer.writeInteger(UInt8(patterns.count))
        buffer.writeInteger(UInt8(0))
        buffer.writeString(durableName)
        buffer.writeString(object)
        for pattern in patterns {
            buffer.writeCounted(pattern)
        }
    }
}
