import NotifyCenter
import NotifyWire

/// The parameters of a request for stored messages, checked against the protocol's rules.
struct LogQuery: Sendable {
    let patterns: [String]
    let object: String
    let start: LogPosition
    /// The position of the end; nil for the end of the log.
    let end: LogPosition?
    let limit: Int?
    let follows: Bool
    let order: NotificationClient.LogOrder

    init(
        patterns: [String], object: String?, from start: NotificationClient.Start, to end: NotificationClient.Start?,
        limit: Int?,
        follows: Bool, order: NotificationClient.LogOrder = .oldestFirst
    ) throws(NotifyError) {
        let spec = try SubscriptionSpec(patterns: patterns, object: object, kind: .volatile(), limit: limit)
        self.patterns = spec.patterns.map(\.string)
        self.object = spec.object ?? ""
        self.start = try start.position()
        if let end { self.end = try end.position() } else { self.end = nil }
        self.limit = limit
        self.follows = follows
        self.order = order
        guard !follows || order == .oldestFirst else {
            throw NotifyError(.invalidArgument, "the order 'newestFirst' can't be combined with 'follows'")
        }
        guard !follows || end == nil else {
            throw NotifyError(.invalidArgument, "following the log has no end: omit either 'to' or 'follows'")
        }
    }
}

/// The part of the log that is still to be read.
struct LogCursor: Sendable {
    private let query: LogQuery
    private var first: UInt64 = 1
    private var last: UInt64 = .max
    private var left: Int
    /// The mark after which the next page reports deletions; 0 to report none. Before the first page, 0 or
    /// `ReadLog.allDeletions`. If it was 0, the mark of the first page replaces it.
    private var deletionMark: UInt64 = 0
    private(set) var isAtEnd = false

    /// - Parameters:
    ///   - start: The daemon's answer for the start of the query.
    ///   - end: The daemon's answer for the end of the query, if the end is a time or an age.
    init(_ query: LogQuery, from start: Found, to end: Found?) {
        self.query = query
        left = query.limit ?? .max
        first = start.sequence
        if query.start.reportsEarlierDeletions { deletionMark = ReadLog.allDeletions }
        switch query.end {
        case nil: last = query.follows ? .max : start.last
        case .now: last = start.last
        case .oldest: last = 0
        case .sequence(let sequence): last = min(sequence, start.last)
        case .age, .time: last = (end?.sequence ?? 1) - 1
        }
        isAtEnd = first > last || left == 0
    }

    /// The request to sum up the part that is still to be read.
    var summaryRequest: SummarizeLog {
        SummarizeLog(
            first: first, last: last,
            maximumNames: UInt32(clamping: min(left, Int(Limits.namesPerLogSummary))), patterns: query.patterns)
    }

    /// The request for the next page.
    var request: ReadLog {
        ReadLog(
            first: first, last: last, deletionMark: deletionMark,
            maximumMessages: UInt32(clamping: min(left, Int(Limits.messagesPerLogPage))), isWaiting: query.follows,
            isDescending: query.order == .newestFirst, object: query.object, patterns: query.patterns)
    }

    /// Continues after a page.
    mutating func received(_ page: LogPage) {
        left -= min(left, Int(page.count))
        if deletionMark == 0 { deletionMark = page.deletionMark }
        switch query.order {
        case .oldestFirst: first = max(first, page.through < .max ? page.through + 1 : .max)
        case .newestFirst: last = min(last, max(page.through, 1) - 1)
        }
        isAtEnd = left == 0 || first > last || (page.isEnd && !query.follows)
    }
}

extension LogPosition {
    /// Whether a reader that begins at the position also reports messages deleted earlier.
    var reportsEarlierDeletions: Bool {
        switch self {
        case .now, .oldest: false
        case .sequence, .age, .time: true
        }
    }
}
