package import NIOCore

/// Requests values, as one page. The answer is a ``ValuePage`` and the messages that it announces.
///
/// A client first reads all values in the order of their keys. It then reads the changes since the first page, in the
/// order of their sequences: new values, and the messages that clear values. It requests each page itself, so it
/// receives no more than it has room for. A value that changes several times before it is read is read once.
package struct ReadValues: ControlFrame, RequestFrame {
    package typealias Reply = ValuePage
    package static let kind = FrameKind.readValues
    private static let changesFlag: UInt8 = 1
    private static let waitingFlag: UInt8 = 2
    private static let objectFlag: UInt8 = 4

    /// What a page contains.
    package enum Order: Equatable, Sendable {
        /// Values, in the order of their keys. A key is a number that the daemon has given to a name and an object.
        ///
        /// - after: The key after which to read.
        /// - through: The last key to read.
        case keys(after: UInt64, through: UInt64)
        /// Changes: those of stored values in the order of their sequences, and those of announced values in the order
        /// of theirs.
        ///
        /// - after: The sequence after which to read changes of stored values.
        /// - announcedAfter: The sequence after which to read changes of announced values; 0 for all present ones.
        /// - isWaiting: Whether to wait for a change if there is none.
        case changes(after: UInt64, announcedAfter: UInt64, isWaiting: Bool)
    }

    /// The highest key of a stored value. Announced values have higher keys.
    package static let lastStoredKey = UInt64.max >> 1

    package var request: UInt64
    /// The epoch of the log in which the position is; 0 for any.
    package var epoch: UInt64
    /// The run of the daemon in which the position among the announced values is; 0 for none.
    package var run: UInt64
    package var order: Order
    /// The maximum number of messages in the page, at least 1.
    package var maximumMessages: UInt32
    /// The object of the values, empty for none; nil for values with any object or none.
    package var object: String?
    package var patterns: [String]
    package var replyTime: ReplyTime { isWaiting ? .unlimited : .short }

    package var isWaiting: Bool { if case .changes(_, _, isWaiting: true) = order { true } else { false } }

    package func writeCancellation(to buffer: inout ByteBuffer) {
        if isWaiting { EndRead(request: request).write(to: &buffer) }
    }

    package init(
        request: UInt64 = 0, epoch: UInt64 = 0, run: UInt64 = 0, _ order: Order = .keys(after: 0, through: .max),
        maximumMessages: UInt32 = Limits.messagesPerLogPage, object: String? = nil, patterns: [String]
    ) {
        self.request = request
        self.epoch = epoch
        self.run = run
        self.order = order
        self.maximumMessages = maximumMessages
        self.object = object
        self.patterns = patterns
    }

    package init(flags: UInt8, reading body: inout FieldReader) throws(WireError) {
        request = try body.integer()
        epoch = try body.integer()
        run = try body.integer()
        let after: UInt64 = try body.integer()
        let through: UInt64 = try body.integer()
        maximumMessages = try body.integer()
        let options: UInt8 = try body.integer()
        let objectLength: UInt8 = try body.integer()
        let patternCount: UInt8 = try body.integer()
        try body.skip(1)
        let object = try body.string(Int(objectLength))
        patterns = try body.countedStrings(patternCount)
        guard options & ~(Self.changesFlag | Self.waitingFlag | Self.objectFlag) == 0 else { throw .unknownFlags }
        let isWaiting = options & Self.waitingFlag != 0
        if options & Self.objectFlag != 0 { self.object = object }
        guard maximumMessages > 0 else { throw WireError(.invalidArgument, "a page has at least 1 message") }
        guard options & Self.changesFlag != 0 else {
            guard !isWaiting else { throw WireError(.invalidArgument, "only a request for changes can wait") }
            order = .keys(after: after, through: through)
            return
        }
        order = .changes(after: after, announcedAfter: through, isWaiting: isWaiting)
    }

    package func writeBody(to buffer: inout ByteBuffer) {
        buffer.writeLE(request)
        buffer.writeLE(epoch)
        buffer.writeLE(run)
        var options = object == nil ? 0 : Self.objectFlag
        switch order {
        case .keys(let after, let through):
            buffer.writeLE(after)
            buffer.writeLE(through)
        case .changes(let after, let announcedAfter, let isWaiting):
            options |= Self.changesFlag | (isWaiting ? Self.waitingFlag : 0)
            buffer.writeLE(after)
            buffer.writeLE(announcedAfter)
        }
        buffer.writeLE(maximumMessages)
        buffer.writeInteger(options)
        buffer.writeInteger(UInt8(object?.utf8.count ?? 0))
        buffer.writeInteger(UInt8(patterns.count))
        buffer.writeInteger(UInt8(0))
        buffer.writeString(object ?? "")
        for pattern in patterns { buffer.writeCounted(pattern) }
    }
}

/// The answer to ``ReadValues``: the next `count` deliver frames of the connection are the page.
package struct ValuePage: ReplyFrame {
    package static let kind = FrameKind.valuePage
    private static let endFlag: UInt8 = 1
    private static let resetFlag: UInt8 = 2
    private static let announcedResetFlag: UInt8 = 4

    package var request: UInt64
    /// The number of messages that follow.
    package var count: UInt32
    /// Whether the page reaches the last key, or the last committed change.
    package var isEnd: Bool
    /// Whether the changes since the requested position are unknown, because the log has another epoch, or because
    /// clears since then are forgotten. The page is empty, and the client reads all values again.
    package var isReset: Bool
    /// Whether the changes of announced values since the requested position are unknown, because the daemon was
    /// restarted, or because clears since then are forgotten. The page is empty. Announced values that the client knows
    /// are obsolete, and it reads them again.
    package var isAnnouncedReset: Bool
    /// The epoch of the log.
    package var epoch: UInt64
    /// Identifies the run of the daemon.
    package var run: UInt64
    /// The key or the sequence after which the next page continues.
    package var through: UInt64
    /// The sequence after which the next page continues with changes of announced values.
    package var announcedThrough: UInt64
    /// The highest committed sequence when the page was requested. If this is the first page of values, changes are to
    /// be read after this sequence: the page contains every value up to it that has not changed since, and perhaps later
    /// ones.
    package var committedThrough: UInt64
    /// The highest key in use. A client that reads all values reads up to that of its first page.
    package var lastKey: UInt64
    /// The number of damaged values, which are left out. Some of them might not match.
    package var damaged: UInt64

    package init(
        request: UInt64, count: UInt32 = 0, isEnd: Bool = false, isReset: Bool = false,
        isAnnouncedReset: Bool = false, epoch: UInt64, run: UInt64 = 0, through: UInt64, announcedThrough: UInt64 = 0,
        committedThrough: UInt64 = 0, lastKey: UInt64 = 0, damaged: UInt64 = 0
    ) {
        self.request = request
        self.count = count
        self.isEnd = isEnd
        self.isReset = isReset
        self.isAnnouncedReset = isAnnouncedReset
        self.epoch = epoch
        self.run = run
        self.through = through
        self.announcedThrough = announcedThrough
        self.committedThrough = committedThrough
        self.lastKey = lastKey
        self.damaged = damaged
    }

    package init(flags: UInt8, reading body: inout FieldReader) throws(WireError) {
        request = try body.integer()
        count = try body.integer()
        let options: UInt8 = try body.integer()
        isEnd = options & Self.endFlag != 0
        isReset = options & Self.resetFlag != 0
        isAnnouncedReset = options & Self.announcedResetFlag != 0
        try body.skip(3)
        epoch = try body.integer()
        run = try body.integer()
        through = try body.integer()
        announcedThrough = try body.integer()
        committedThrough = try body.integer()
        lastKey = try body.integer()
        damaged = try body.integer()
    }

    package func writeBody(to buffer: inout ByteBuffer) {
        buffer.writeLE(request)
        buffer.writeLE(count)
        let options = [
            isEnd ? Self.endFlag : 0, isReset ? Self.resetFlag : 0, isAnnouncedReset ? Self.announcedResetFlag : 0,
        ]
        buffer.writeInteger(options.reduce(0, |))
        buffer.writeRepeatingByte(0, count: 3)
        let fields = [epoch, run, through, announcedThrough, committedThrough, lastKey, damaged]
        for field in fields { buffer.writeLE(field) }
    }
}
