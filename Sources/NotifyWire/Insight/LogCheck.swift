package import NIOCore

/// Asks for the damage of the log that the daemon knows of. Only peers that may manage everything may ask.
package struct CheckRequest: ControlFrame, RequestFrame {
    package typealias Reply = CheckReply
    package static let kind = FrameKind.check
    private static let fullOption: UInt8 = 1

    package var request: UInt64
    /// Whether the daemon checks every row of the log first, and reports its progress meanwhile.
    package var isFull: Bool
    package var replyTime: ReplyTime { .long }

    package init(request: UInt64 = 0, isFull: Bool) {
        self.request = request
        self.isFull = isFull
    }

    package init(flags: UInt8, reading body: inout FieldReader) throws(WireError) {
        request = try body.integer()
        let options: UInt8 = try body.integer()
        guard options & ~Self.fullOption == 0 else { throw WireError(.unsupported, "unknown options of a check") }
        isFull = options & Self.fullOption != 0
        try body.skip(3)
    }

    package func writeBody(to buffer: inout ByteBuffer) {
        buffer.writeLE(request)
        buffer.writeInteger(isFull ? Self.fullOption : 0)
        buffer.writeRepeatingByte(0, count: 3)
    }
}

/// The progress of a full check, sent when the percentage changes.
package struct CheckProgress: ControlFrame {
    package static let kind = FrameKind.checkProgress

    package var request: UInt64
    /// The percentage of the messages that was checked.
    package var percent: UInt8

    package init(request: UInt64, percent: UInt8) {
        self.request = request
        self.percent = percent
    }

    package init(flags: UInt8, reading body: inout FieldReader) throws(WireError) {
        request = try body.integer()
        percent = try body.integer()
        try body.skip(3)
    }

    package func writeBody(to buffer: inout ByteBuffer) {
        buffer.writeLE(request)
        buffer.writeInteger(percent)
        buffer.writeRepeatingByte(0, count: 3)
    }
}

/// The subject of a problem: a part of the log besides messages, or the daemon.
package enum LogPart: UInt8, CaseIterable, Sendable {
    /// Something that SQLite can't read, or reports as malformed.
    case database = 1
    case state = 2
    case name = 3
    case segment = 4
    case subscription = 5
    /// Storing fails, so posts to be stored are refused.
    case storage = 6
    /// The last reload of the configuration has failed.
    case configuration = 7
    /// A value, or the mark of a cleared one.
    case value = 8
}

/// A problem of the log besides damaged messages, or of the daemon.
package struct LogProblem: Equatable, Sendable {
    /// The maximum length of the text in a frame, in bytes.
    static let maximumTextBytes = 1000

    package var part: LogPart
    /// A description of the damage, or of the failure and its repair, in one line without a final period.
    package var text: String

    package init(_ part: LogPart, _ text: String) {
        self.part = part
        self.text = text
    }
}

/// The answer to a check.
package struct CheckReport: ControlFrame {
    package static let kind = FrameKind.checkReport
    /// The maximum numbers of ranges and of problems in a report.
    package static let maximumRanges = 256
    package static let maximumProblems = 32

    package var request: UInt64
    /// Whether every row was checked. Otherwise the report has the damage that was found while the log was read, and
    /// the numbers of sound rows are 0.
    package var isFull: Bool
    /// The number of sound messages. `names`, `segments` and `subscriptions` count sound rows, too.
    package var messages: UInt64
    package var names: UInt64
    package var segments: UInt64
    package var subscriptions: UInt64
    /// The number of damaged messages that are known.
    package var damagedMessages: UInt64
    /// The number of other problems of the log.
    package var problemCount: UInt64
    /// The sequences of damaged messages, ascending; only some of them if there are more than ``maximumRanges`` ranges.
    package var damagedRanges: [SequenceRange]
    /// The problems of the daemon, followed by the first problems of the log. Only those of the log count in
    /// `problemCount`.
    package var problems: [LogProblem]

    package init(
        request: UInt64, isFull: Bool, messages: UInt64 = 0, names: UInt64 = 0, segments: UInt64 = 0,
        subscriptions: UInt64 = 0, damagedMessages: UInt64, problemCount: UInt64, damagedRanges: [SequenceRange],
        problems: [LogProblem]
    ) {
        self.request = request
        self.isFull = isFull
        self.messages = messages
        self.names = names
        self.segments = segments
        self.subscriptions = subscriptions
        self.damagedMessages = damagedMessages
        self.problemCount = problemCount
        self.damagedRanges = Array(damagedRanges.prefix(Self.maximumRanges))
        self.problems = problems.prefix(Self.maximumProblems).map { problem in
            LogProblem(problem.part, problem.text.limited(toBytes: LogProblem.maximumTextBytes))
        }
    }

    package init(flags: UInt8, reading body: inout FieldReader) throws(WireError) {
        request = try body.integer()
        messages = try body.integer()
        names = try body.integer()
        segments = try body.integer()
        subscriptions = try body.integer()
        damagedMessages = try body.integer()
        problemCount = try body.integer()
        let rangeCount: UInt16 = try body.integer()
        let textCount: UInt8 = try body.integer()
        let options: UInt8 = try body.integer()
        isFull = options & 1 != 0
        damagedRanges = []
        for _ in 0..<rangeCount {
            damagedRanges.append(SequenceRange(first: try body.integer(), last: try body.integer()))
        }
        problems = []
        for _ in 0..<textCount {
            let part: UInt8 = try body.integer()
            let length: UInt16 = try body.integer()
            // A later daemon may know more parts.
            problems.append(LogProblem(LogPart(rawValue: part) ?? .database, try body.string(Int(length))))
        }
    }

    package func writeBody(to buffer: inout ByteBuffer) {
        for field in [request, messages, names, segments, subscriptions, damagedMessages, problemCount] {
            buffer.writeLE(field)
        }
        buffer.writeLE(UInt16(damagedRanges.count))
        buffer.writeInteger(UInt8(problems.count))
        buffer.writeInteger(UInt8(isFull ? 1 : 0))
        for range in damagedRanges {
            buffer.writeLE(range.first)
            buffer.writeLE(range.last)
        }
        for problem in problems {
            buffer.writeInteger(problem.part.rawValue)
            buffer.writeLE(UInt16(problem.text.utf8.count))
            buffer.writeString(problem.text)
        }
    }
}

/// The reply to a check.
package struct CheckReply: ReplyFrames {
    /// The percentage of the messages that was checked.
    package var percent: UInt8 = 0
    /// The result; nil until the check has ended.
    package var report: CheckReport?

    package static func add(_ frame: FrameDecoder.Frame, to received: inout Self?) throws(WireError) -> Bool {
        var reply = received ?? Self()
        defer { received = reply }
        if frame.kind == CheckProgress.kind.rawValue {
            reply.percent = try CheckProgress(frame).percent
        } else {
            reply.report = try CheckReport(expecting: frame)
        }
        return reply.report != nil
    }
}
