package import NIOCore

/// Requests stored messages in a range of the log, as one page.
///
/// The answer is a `LogPage` and the messages that it announces. The client requests each further page itself, so it
/// receives no more than it has room for.
package struct ReadLog: ControlFrame, RequestFrame {
    package typealias Reply = LogPage
    package static let kind = FrameKind.readLog
    private static let waitingFlag: UInt8 = 1
    private static let pendingFlag: UInt8 = 2
    private static let descendingFlag: UInt8 = 4
    /// The mark that precedes every known deletion.
    package static let allDeletions: UInt64 = 1

    package var request: UInt64
    /// The first sequence of the range, at least 1.
    package var first: UInt64
    /// The last sequence of the range.
    package var last: UInt64
    /// The mark of the first page of this reading. The page reports the messages of the range that were deleted since
    /// then. 0 to report none, ``allDeletions`` to report all known deletions.
    package var deletionMark: UInt64
    /// The maximum number of messages in the page, at least 1.
    package var maximumMessages: UInt32
    /// Whether to wait at the end of the log for a message in the range.
    package var isWaiting: Bool
    /// Whether to wait for the messages in the range that were posted before the request and are still being stored.
    package var awaitsPending: Bool
    /// Whether to read from the end of the range to its beginning. Such a request does not wait.
    package var isDescending: Bool
    /// Limits the messages to those with this object; empty for all.
    package var object: String
    package var patterns: [String]
    package var replyTime: ReplyTime { isWaiting ? .unlimited : .short }

    package func writeCancellation(to buffer: inout ByteBuffer) {
        if isWaiting || awaitsPending { EndRead(request: request).write(to: &buffer) }
    }

    package init(
        request: UInt64 = 0, first: UInt64 = 1, last: UInt64 = .max, deletionMark: UInt64 = 0,
        maximumMessages: UInt32 = Limits.messagesPerLogPage,
        isWaiting: Bool = false, awaitsPending: Bool = false, isDescending: Bool = false, object: String = "",
        patterns: [String]
    ) {
        self.request = request
        self.first = first
        self.last = last
        self.deletionMark = deletionMark
        self.maximumMessages = maximumMessages
        self.isWaiting = isWaiting
        self.awaitsPending = awaitsPending
        self.isDescending = isDescending
        self.object = object
        self.patterns = patterns
    }

    package init(flags: UInt8, reading body: inout FieldReader) throws(WireError) {
        request = try body.integer()
        first = try body.integer()
        last = try body.integer()
        deletionMark = try body.integer()
        maximumMessages = try body.integer()
        let options: UInt8 = try body.integer()
        let objectLength: UInt8 = try body.integer()
        let patternCount: UInt8 = try body.integer()
        try body.skip(1)
        object = try body.string(Int(objectLength))
        patterns = try body.countedStrings(patternCount)
        guard options & ~(Self.waitingFlag | Self.pendingFlag | Self.descendingFlag) == 0 else { throw .unknownFlags }
        isWaiting = options & Self.waitingFlag != 0
        awaitsPending = options & Self.pendingFlag != 0
        isDescending = options & Self.descendingFlag != 0
        guard first > 0, maximumMessages > 0 else {
            throw WireError(.invalidArgument, "a range of the log begins at 1, and a page has at least 1 message")
        }
        guard !isDescending || !(isWaiting || awaitsPending) else {
            throw WireError(.invalidArgument, "a request that reads from the end of its range does not wait")
        }
    }

    package func writeBody(to buffer: inout ByteBuffer) {
        for field in [request, first, last, deletionMark] { buffer.writeLE(field) }
        buffer.writeLE(maximumMessages)
        buffer.writeInteger(
            (isWaiting ? Self.waitingFlag : 0) | (awaitsPending ? Self.pendingFlag : 0)
                | (isDescending ? Self.descendingFlag : 0))
        buffer.writeInteger(UInt8(object.utf8.count))
        buffer.writeInteger(UInt8(patterns.count))
        buffer.writeInteger(UInt8(0))
        buffer.writeString(object)
        for pattern in patterns { buffer.writeCounted(pattern) }
    }
}

/// The answer to a request for stored messages: the next `count` deliver frames of the connection are the page.
package struct LogPage: ReplyFrame {
    package static let kind = FrameKind.logPage
    private static let endFlag: UInt8 = 1
    private static let deletedBoundFlag: UInt8 = 2

    /// Messages that were deleted before the reader got them.
    package struct Deleted: Equatable, Sendable {
        package var messages: UInt64
        /// Whether there may be fewer messages: some might not match, or may have been read before.
        package var isUpperBound: Bool
        /// A range that includes the messages.
        package var range: SequenceRange

        package init(messages: UInt64, isUpperBound: Bool, range: SequenceRange) {
            self.messages = messages
            self.isUpperBound = isUpperBound
            self.range = range
        }
    }

    package var request: UInt64
    /// The number of messages that follow.
    package var count: UInt32
    /// Whether the page reaches the end of the range or of the log. If the range is read from its end, whether the page
    /// reaches the beginning of the range.
    package var isEnd: Bool
    /// Every matching message in the range up to this sequence, or from this sequence on if the range is read from its
    /// end, is in this page or an earlier one.
    package var through: UInt64
    /// The number of damaged messages, which are left out. Some of them might not match.
    package var damaged: UInt64
    /// The sequences of the first and the last damaged message; 0 if there are none.
    package var damagedRange: SequenceRange
    /// The deletions since the mark of the request, in the part of the range that this page covers; nil if there are
    /// none.
    package var deleted: Deleted?
    /// The mark of the deletions until the page was read. The later requests of a reading contain the mark of its first
    /// page.
    package var deletionMark: UInt64

    package init(
        request: UInt64, count: UInt32, isEnd: Bool, through: UInt64, damaged: UInt64 = 0,
        damagedRange: SequenceRange = SequenceRange(first: 0, last: 0), deleted: Deleted? = nil,
        deletionMark: UInt64 = 0
    ) {
        self.request = request
        self.count = count
        self.isEnd = isEnd
        self.through = through
        self.damaged = damaged
        self.damagedRange = damagedRange
        self.deleted = deleted
        self.deletionMark = deletionMark
    }

    package init(flags: UInt8, reading body: inout FieldReader) throws(WireError) {
        request = try body.integer()
        count = try body.integer()
        let options: UInt8 = try body.integer()
        isEnd = options & Self.endFlag != 0
        try body.skip(3)
        through = try body.integer()
        damaged = try body.integer()
        damagedRange = SequenceRange(first: try body.integer(), last: try body.integer())
        let messages: UInt64 = try body.integer()
        let range = SequenceRange(first: try body.integer(), last: try body.integer())
        if messages > 0 {
            deleted = Deleted(messages: messages, isUpperBound: options & Self.deletedBoundFlag != 0, range: range)
        }
        deletionMark = try body.integer()
    }

    package func writeBody(to buffer: inout ByteBuffer) {
        buffer.writeLE(request)
        buffer.writeLE(count)
        buffer.writeInteger(
            (isEnd ? Self.endFlag : 0) | (deleted?.isUpperBound ?? false ? Self.deletedBoundFlag : 0))
        buffer.writeRepeatingByte(0, count: 3)
        for field in [through, damaged, damagedRange.first, damagedRange.last] { buffer.writeLE(field) }
        for field in [deleted?.messages ?? 0, deleted?.range.first ?? 0, deleted?.range.last ?? 0, deletionMark] {
            buffer.writeLE(field)
        }
    }
}

/// Answers a waiting `ReadLog` of this connection now, with an empty page. Has no answer itself, and no effect if the
/// request does not wait.
package struct EndRead: BareFrame {
    package static let kind = FrameKind.endRead

    /// The number of the request to end.
    package var request: UInt64

    package init(request: UInt64) {
        self.request = request
    }
}
