package import NIOCore

/// Requests the number and bytes of the stored messages of each name. The answer is an entry for each name, and a
/// `ListEnd`.
package struct SummarizeLog: ControlFrame, RequestFrame {
    package typealias Reply = [StoredNameEntry]
    package static let kind = FrameKind.summarizeLog

    package var request: UInt64
    /// The first sequence of the range, at least 1.
    package var first: UInt64
    /// The last sequence of the range.
    package var last: UInt64
    /// The maximum number of names in the answer, at least 1.
    package var maximumNames: UInt32
    package var patterns: [String]
    package var replyTime: ReplyTime { .long }

    package init(
        request: UInt64 = 0, first: UInt64 = 1, last: UInt64 = .max,
        maximumNames: UInt32 = Limits.namesPerLogSummary, patterns: [String]
    ) {
        self.request = request
        self.first = first
        self.last = last
        self.maximumNames = maximumNames
        self.patterns = patterns
    }

    package init(flags: UInt8, reading body: inout FieldReader) throws(WireError) {
        request = try body.integer()
        first = try body.integer()
        last = try body.integer()
        maximumNames = try body.integer()
        let patternCount: UInt8 = try body.integer()
        try body.skip(3)
        patterns = try body.countedStrings(patternCount)
        guard first > 0, maximumNames > 0 else {
            throw WireError(.invalidArgument, "a range of the log begins at 1, and a summary has at least 1 name")
        }
    }

    package func writeBody(to buffer: inout ByteBuffer) {
        for field in [request, first, last] { buffer.writeLE(field) }
        buffer.writeLE(maximumNames)
        buffer.writeInteger(UInt8(patterns.count))
        buffer.writeRepeatingByte(0, count: 3)
        for pattern in patterns { buffer.writeCounted(pattern) }
    }
}

/// The stored messages of a name. Entries with more bytes come first.
package struct StoredNameEntry: ControlFrame {
    package static let kind = FrameKind.storedNameEntry

    package var request: UInt64
    package var messages: UInt64
    /// The bytes of the messages in the log.
    package var bytes: UInt64
    /// The sequence and the time of posting of the first and the last message.
    package var first: UInt64
    package var firstMicroseconds: UInt64
    package var last: UInt64
    package var lastMicroseconds: UInt64
    /// The name. It is empty in the entry that sums up the names for which the answer has no room.
    package var name: String

    package init(
        request: UInt64, messages: UInt64, bytes: UInt64, first: UInt64, firstMicroseconds: UInt64, last: UInt64,
        lastMicroseconds: UInt64, name: String
    ) {
        self.request = request
        self.messages = messages
        self.bytes = bytes
        self.first = first
        self.firstMicroseconds = firstMicroseconds
        self.last = last
        self.lastMicroseconds = lastMicroseconds
        self.name = name
    }

    package init(flags: UInt8, reading body: inout FieldReader) throws(WireError) {
        request = try body.integer()
        messages = try body.integer()
        bytes = try body.integer()
        first = try body.integer()
        firstMicroseconds = try body.integer()
        last = try body.integer()
        lastMicroseconds = try body.integer()
        name = try body.countedString()
    }

    package func writeBody(to buffer: inout ByteBuffer) {
        for field in [request, messages, bytes, first, firstMicroseconds, last, lastMicroseconds] {
            buffer.writeLE(field)
        }
        buffer.writeCounted(name)
    }
}
