package import NIOCore

/// Requests the posts since this connection's previous monitor request: accepted and refused posts whose names match
/// one of the patterns.
///
/// The answer is a `PostEntry` for each post and a `ListEnd`. The answer to the first request, and to a request with
/// other patterns than the previous one, is empty: the daemon records posts from then on, until there is no request for
/// 10 seconds.
package struct MonitorRequest: ControlFrame, RequestFrame {
    package typealias Reply = [PostEntry]
    package static let kind = FrameKind.monitor
    /// The maximum number of patterns.
    package static let maximumPatterns = 16

    package var request: UInt64
    package var patterns: [String]

    package init(request: UInt64 = 0, patterns: [String]) {
        self.request = request
        self.patterns = patterns
    }

    package init(flags: UInt8, reading body: inout FieldReader) throws(WireError) {
        request = try body.integer()
        let count: UInt8 = try body.integer()
        patterns = try body.countedStrings(count)
    }

    package func writeBody(to buffer: inout ByteBuffer) {
        buffer.writeLE(request)
        buffer.writeInteger(UInt8(patterns.count))
        for pattern in patterns { buffer.writeCounted(pattern) }
    }
}

/// A post in the answer to a monitor request, or the message in the answer to a trace.
package struct PostEntry: ControlFrame {
    package static let kind = FrameKind.postEntry
    /// Flag bit 0: the entry is a request to a server.
    package static let requestFlag: UInt8 = 1
    /// The maximum number of payload bytes in an entry.
    package static let maximumPayloadBytes = 1_024

    package var request: UInt64
    /// The number of posts between the previous entry and this one that were not recorded, or not sent. Some of them
    /// might not match the patterns.
    package var skipped: UInt64 = 0
    /// The post's stamp. The sequence of a refused post is 0.
    package var stamp: Stamp
    /// The number of the poster's connection, as in `ClientEntry`; 0 for a post of the daemon, and in a trace.
    package var client: UInt64 = 0
    /// The number of connections that the post was sent to; 0 in a trace.
    package var subscribers: UInt32 = 0
    /// The number of durable subscriptions that the post was stored for; 0 in a trace.
    package var stored: UInt32 = 0
    /// The durability reached or, for a refused post, requested.
    package var durability = Durability.volatile
    /// The code of the error with which the post was refused; 0 if it was accepted.
    package var errorCode: UInt16 = 0
    /// The number of bytes of the whole payload.
    package var payloadBytes: UInt32 = 0
    /// The name. The name of a refused post may be invalid.
    package var name: [UInt8]
    package var object: [UInt8] = []
    /// The encoded headers. The headers of a refused post may be invalid.
    package var headers: [UInt8] = []
    /// The first bytes of the payload.
    package var payload: [UInt8] = []
    /// The reason why the post was refused. A text of more than 65,535 bytes is cut.
    package var reason = ""
    /// Whether the entry is a request to a server. Such an entry has no sequence and no subscribers.
    package var isRequest = false
    package var flags: UInt8 { isRequest ? Self.requestFlag : 0 }

    package init(request: UInt64 = 0, stamp: Stamp, name: [UInt8]) {
        self.request = request
        self.stamp = stamp
        self.name = name
    }

    /// Calls `body` with the parts of the message that the entry has. The parts are valid during the call.
    package func withParts<Result>(_ body: (MessageParts) throws -> Result) rethrows -> Result {
        try name.withUnsafeBytes { name in
            try object.withUnsafeBytes { object in
                try headers.withUnsafeBytes { headers in
                    try payload.withUnsafeBytes { payload in
                        let empty = UnsafeRawBufferPointer(start: nil, count: 0)
                        return try body(
                            MessageParts(
                                name: name, object: object, messageID: empty, headers: headers, payload: payload))
                    }
                }
            }
        }
    }

    /// Copies the parts of a message.
    package init(request: UInt64 = 0, stamp: Stamp, _ parts: MessageParts) {
        self.init(request: request, stamp: stamp, name: Array(parts.name))
        object = Array(parts.object)
        headers = Array(parts.headers)
        payload = Array(parts.payload.prefix(Self.maximumPayloadBytes))
        payloadBytes = UInt32(parts.payload.count)
    }

    package init(flags: UInt8, reading body: inout FieldReader) throws(WireError) {
        request = try body.integer()
        skipped = try body.integer()
        stamp = Stamp(
            sequence: try body.integer(), timeMicroseconds: try body.integer(), uid: try body.integer(),
            gid: try body.integer(), pid: try body.integer())
        subscribers = try body.integer()
        client = try body.integer()
        stored = try body.integer()
        payloadBytes = try body.integer()
        errorCode = try body.integer()
        guard let durability = Durability(rawValue: try body.integer()) else { throw .unknownDurability }
        self.durability = durability
        let nameLength: UInt8 = try body.integer()
        let objectLength: UInt8 = try body.integer()
        try body.skip(1)
        let headersLength: UInt16 = try body.integer()
        let payloadLength: UInt16 = try body.integer()
        let reasonLength: UInt16 = try body.integer()
        name = Array(try body.take(Int(nameLength)))
        object = Array(try body.take(Int(objectLength)))
        headers = Array(try body.take(Int(headersLength)))
        payload = Array(try body.take(Int(payloadLength)))
        reason = try body.string(Int(reasonLength))
        isRequest = flags & Self.requestFlag != 0
    }

    package func writeBody(to buffer: inout ByteBuffer) {
        for field in [request, skipped, stamp.sequence, stamp.timeMicroseconds] { buffer.writeLE(field) }
        for field in [stamp.uid, stamp.gid, stamp.pid, subscribers] { buffer.writeLE(field) }
        buffer.writeLE(client)
        buffer.writeLE(stored)
        buffer.writeLE(payloadBytes)
        buffer.writeLE(errorCode)
        for field in [durability.rawValue, UInt8(name.count), UInt8(object.count), 0] { buffer.writeInteger(field) }
        let reason = reason.limitedToCountedText
        for count in [headers.count, payload.count, reason.utf8.count] { buffer.writeLE(UInt16(count)) }
        for part in [name, object, headers, payload] { buffer.writeBytes(part) }
        buffer.writeString(reason)
    }

    /// The memory of the entry, in bytes.
    package var byteCount: Int {
        256 + name.count + object.count + headers.count + payload.count + reason.utf8.count
    }
}
