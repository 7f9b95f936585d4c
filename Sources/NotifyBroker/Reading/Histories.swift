import DequeModule
import NotifyLog

/// A request for stored messages that is not answered yet.
struct HistoryRead {
    let connection: ConnectionID
    let request: UInt64
    let charge: Charge
    let filter: SubscriptionFilter
    /// The sequence after which to read.
    var after: UInt64
    /// The last sequence to read.
    let last: UInt64
    let maximumMessages: Int
    /// Whether to read from the end of the range.
    let isDescending: Bool
    let wait: Wait
    /// The mark after which the page reports deletions, see `PageRequest`. If the client has no mark, this becomes the
    /// mark of the first page that is read for the request: the client has missed no earlier deletions.
    var deletionMark: UInt64
    /// The sequence up to which no message was waiting to be stored when the page was requested.
    var settledThrough: UInt64 = 0
    /// The end of the log when the page was requested.
    var persistedThrough: UInt64 = 0
    /// The generation of the policy under which the page was requested.
    var rights: UInt32 = 0

    /// The event that the request waits for at the end of the log.
    enum Wait {
        case none
        /// A message in the range.
        case message
        /// The messages in the range that are being stored.
        case pending
    }

    /// The memory of a request, in bytes.
    static func byteCount(_ filter: SubscriptionFilter) -> Int { 256 + filter.byteCount }
}

/// The requests for stored messages: those that wait for a page, for the next commit, or for room in an outbox.
struct Histories {
    private var queue: Deque<HistoryRead> = []
    /// Requests at the end of the log.
    private var atEnd: [HistoryRead] = []
    /// Requests whose connection has no room for a page.
    private var blocked: [HistoryRead] = []
    /// The request whose page is being read; nil if there is none, or if it has ended.
    private var current: HistoryRead?

    /// Whether no request waits for a page.
    var isEmpty: Bool { queue.isEmpty }

    mutating func append(_ read: HistoryRead) {
        queue.append(read)
    }

    /// Takes the next request that waits for a page.
    mutating func next() -> HistoryRead? { queue.popFirst() }

    /// Records that the page of a request is being read.
    mutating func begin(_ read: HistoryRead) {
        current = read
    }

    /// Ends reading, and returns the request whose page was read; nil if it has ended.
    mutating func finish() -> HistoryRead? { current.take() }

    // MARK: Waiting

    /// Makes a request wait for the next commit.
    mutating func waitForCommit(_ read: HistoryRead) {
        atEnd.append(read)
    }

    /// Makes a request wait until its connection has room.
    mutating func waitForRoom(_ read: HistoryRead) {
        blocked.append(read)
    }

    /// Must be called when messages were committed or their commit failed.
    mutating func committed() {
        queue.append(contentsOf: atEnd)
        atEnd.removeAll(keepingCapacity: true)
    }

    /// Must be called when a connection has room again.
    mutating func wake(_ connection: ConnectionID) {
        guard !blocked.isEmpty else { return }
        let ready = blocked.filter { $0.connection == connection }
        blocked.removeAll { $0.connection == connection }
        queue.append(contentsOf: ready)
    }

    // MARK: Ending

    /// Removes and returns a request that may wait at the end of the log; nil if there is no such request.
    mutating func end(_ connection: ConnectionID, request: UInt64) -> HistoryRead? {
        func isEnded(_ read: HistoryRead) -> Bool {
            read.wait != .none && read.connection == connection && read.request == request
        }
        if let read = current, isEnded(read) { return current.take() }
        if let index = atEnd.firstIndex(where: isEnded) { return atEnd.remove(at: index) }
        if let index = blocked.firstIndex(where: isEnded) { return blocked.remove(at: index) }
        return queue.firstIndex(where: isEnded).map { queue.remove(at: $0) }
    }

    /// The unanswered requests.
    var all: some Sequence<HistoryRead> { [atEnd, blocked, Array(queue), [current].compactMap { $0 }].joined() }

    /// Removes the requests of a connection that ends, and returns them.
    mutating func remove(_ connection: ConnectionID) -> [HistoryRead] {
        let removed = all.filter { $0.connection == connection }
        atEnd.removeAll { $0.connection == connection }
        blocked.removeAll { $0.connection == connection }
        queue.removeAll { $0.connection == connection }
        if current?.connection == connection { current = nil }
        return removed
    }
}
