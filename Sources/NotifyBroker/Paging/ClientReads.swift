import DequeModule
import NotifyLog

/// A request of a client that is answered with a page.
protocol ClientRead {
    var connection: ConnectionID { get }
    var request: UInt64 { get }
    /// Whether the request may wait for a commit, so that the client can end it.
    var mayWait: Bool { get }
}

extension ClientRead {
    /// The memory of a request with a filter, in bytes.
    static func byteCount(_ filter: SubscriptionFilter) -> Int { 256 + filter.byteCount }
}

/// The requests of clients for pages of one kind: those that wait for a page, for the next commit, or for room in an
/// outbox.
struct ClientReads<Read: ClientRead> {
    private var queue: Deque<Read> = []
    /// Requests that have read everything, and wait for a commit.
    private(set) var atEnd: [Read] = []
    /// Requests whose connection has no room for a page.
    private var blocked: [Read] = []
    /// The request whose page is being read; nil if there is none, or if it has ended.
    private var current: Read?

    /// Whether no request waits for a page.
    var isEmpty: Bool { queue.isEmpty }

    mutating func append(_ read: Read) {
        queue.append(read)
    }

    /// Takes the next request that waits for a page.
    mutating func next() -> Read? { queue.popFirst() }

    /// Records that the page of a request is being read.
    mutating func begin(_ read: Read) {
        current = read
    }

    /// Ends reading, and returns the request whose page was read; nil if it has ended.
    mutating func finish() -> Read? { current.take() }

    // MARK: Waiting

    /// Makes a request wait for the next commit.
    mutating func waitForCommit(_ read: Read) {
        atEnd.append(read)
    }

    /// Makes a request wait until its connection has room.
    mutating func waitForRoom(_ read: Read) {
        blocked.append(read)
    }

    /// Must be called when messages were committed, their commit failed, or an announced value has changed.
    ///
    /// - Parameter isDone: Whether a request that waits for a commit needs a page now. May change the request.
    mutating func committed(where isDone: (inout Read) -> Bool = { _ in true }) {
        guard !atEnd.isEmpty else { return }
        var waiting: [Read] = []
        for var read in exchange(&atEnd, with: []) {
            if isDone(&read) { queue.append(read) } else { waiting.append(read) }
        }
        atEnd = waiting
    }

    /// Must be called when a connection has room again.
    mutating func wake(_ connection: ConnectionID) {
        guard !blocked.isEmpty else { return }
        let ready = blocked.filter { $0.connection == connection }
        blocked.removeAll { $0.connection == connection }
        queue.append(contentsOf: ready)
    }

    // MARK: Ending

    /// Removes and returns a request that may wait for a commit; nil if there is no such request.
    mutating func end(_ connection: ConnectionID, request: UInt64) -> Read? {
        func isEnded(_ read: Read) -> Bool {
            read.mayWait && read.connection == connection && read.request == request
        }
        if let read = current, isEnded(read) { return current.take() }
        if let index = atEnd.firstIndex(where: isEnded) { return atEnd.remove(at: index) }
        if let index = blocked.firstIndex(where: isEnded) { return blocked.remove(at: index) }
        return queue.firstIndex(where: isEnded).map { queue.remove(at: $0) }
    }

    /// The unanswered requests.
    var all: some Sequence<Read> { [atEnd, blocked, Array(queue), [current].compactMap { $0 }].joined() }

    /// Removes the requests of a connection that ends, and returns them.
    mutating func remove(_ connection: ConnectionID) -> [Read] {
        let removed = all.filter { $0.connection == connection }
        atEnd.removeAll { $0.connection == connection }
        blocked.removeAll { $0.connection == connection }
        queue.removeAll { $0.connection == connection }
        if current?.connection == connection { current = nil }
        return removed
    }
}
