package import NIOCore

/// Deletes stored messages, their copies for redelivery, and their dead letters. The client must have the right to
/// manage every name that the patterns match.
package struct Purge: ControlFrame, RequestFrame {
    package typealias Reply = Purged
    package static let kind = FrameKind.purge

    package var request: UInt64
    /// The sequence below which messages are deleted; at least 1.
    package var before: UInt64
    package var patterns: [String]
    package var isChange: Bool { true }
    package var replyTime: ReplyTime { .long }

    package init(request: UInt64 = 0, before: UInt64 = .max, patterns: [String]) {
        self.request = request
        self.before = before
        self.patterns = patterns
    }

    package init(flags: UInt8, reading body: inout FieldReader) throws(WireError) {
        request = try body.integer()
        before = try body.integer()
        let patternCount: UInt8 = try body.integer()
        try body.skip(3)
        patterns = try body.countedStrings(patternCount)
        guard before > 0 else { throw WireError(.invalidArgument, "no message precedes sequence 0") }
    }

    package func writeBody(to buffer: inout ByteBuffer) {
        buffer.writeLE(request)
        buffer.writeLE(before)
        buffer.writeInteger(UInt8(patterns.count))
        buffer.writeRepeatingByte(0, count: 3)
        for pattern in patterns { buffer.writeCounted(pattern) }
    }
}

/// The answer to a purge: the messages are deleted.
package struct Purged: ReplyFrame {
    package static let kind = FrameKind.purged

    package var request: UInt64
    /// The number of deleted messages, dead letters included, and their bytes in the log.
    package var messages: UInt64
    package var bytes: UInt64
    /// The number of durable subscriptions that lost messages which they had not acknowledged.
    package var subscriptions: UInt32
    /// The number of deleted copies for redelivery.
    package var copies: UInt64

    package init(request: UInt64, messages: UInt64, bytes: UInt64, subscriptions: UInt32, copies: UInt64 = 0) {
        self.request = request
        self.messages = messages
        self.bytes = bytes
        self.subscriptions = subscriptions
        self.copies = copies
    }

    package init(flags: UInt8, reading body: inout FieldReader) throws(WireError) {
        request = try body.integer()
        messages = try body.integer()
        bytes = try body.integer()
        subscriptions = try body.integer()
        try body.skip(4)
        copies = try body.integer()
    }

    package func writeBody(to buffer: inout ByteBuffer) {
        for field in [request, messages, bytes] { buffer.writeLE(field) }
        buffer.writeLE(subscriptions)
        buffer.writeLE(UInt32(0))
        buffer.writeLE(copies)
    }
}
