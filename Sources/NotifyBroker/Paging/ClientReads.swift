import NotifyLog

/// A request of a client that is answered with a page.
protocol ClientRead {
    var connection: ConnectionID { get }
    var uid: UInt32 { get }
    var request: UInt64 { get }
    /// Whether the request may wait for a commit, so that the client can end it.
    var mayWait: Bool { get }
}

extension ClientRead {
    /// The memory of a request with a filter, in bytes.
    static func byteCount(_ filter: SubscriptionFilter) -> Int { 384 + filter.byteCount }
}

/// The requests of clients for pages of one kind: those that wait for a page, and those that wait for the next commit.
///
/// Users take turns, and so do the connections of a user.
struct ClientReads<Read: ClientRead> {
    /// The requests of a connection.
    private struct Requests {
        let uid: UInt32
        /// Requests that wait for a page.
        var waiting = RequestList<Read>()
        /// Requests that have read everything, and wait for a commit.
        var atEnd = RequestList<Read>()
        /// Whether the connection has no room for a page.
        var isBlocked = false
        /// Whether the connection is in the queue.
        var isQueued = false

        /// Lets requests that wait for a commit wait for a page.
        mutating func committed(where isDone: (inout Read) -> Bool) {
            for read in atEnd.remove(where: isDone) { waiting.append(read) }
        }

        /// Removes and returns a request that may wait for a commit; nil if there is no such request.
        mutating func end(_ request: UInt64) -> Read? { atEnd.remove(request) ?? waiting.remove(request) }
    }

    private var connections: [ConnectionID: Requests] = [:]
    /// The connections with requests that wait for a page. Some may have ended, or have no such request anymore.
    private(set) var queue = UserQueue<ConnectionID>()
    /// The number of requests that wait for a commit.
    private(set) var atEndCount = 0
    /// The request whose page is being read; nil if there is none, or if it has ended.
    private var current: Read?

    /// Whether no request waits for a page. Those that wait for room in an outbox do not count.
    var isEmpty: Bool { queue.isEmpty }

    mutating func append(_ read: Read) {
        connections[read.connection, default: Requests(uid: read.uid)].waiting.append(read)
        update(read.connection)
    }

    /// Takes the next request that waits for a page.
    mutating func next() -> Read? {
        while let connection = queue.next() {
            connections[connection]?.isQueued = false
            let isBlocked = connections[connection]?.isBlocked ?? true
            let read = isBlocked ? nil : connections[connection]?.waiting.popFirst()
            update(connection)
            if let read { return read }
        }
        return nil
    }

    /// Queues a connection if a request of it waits for a page, and forgets a connection without requests.
    private mutating func update(_ connection: ConnectionID) {
        guard let requests = connections[connection], !requests.isQueued else { return }
        if !requests.waiting.isEmpty, !requests.isBlocked {
            connections[connection]?.isQueued = true
            queue.append(connection, of: requests.uid)
        } else if requests.waiting.isEmpty, requests.atEnd.isEmpty {
            connections[connection] = nil
        }
    }

    /// Records that the page of a request is being read.
    mutating func begin(_ read: Read) {
        current = read
    }

    /// Ends reading, and returns the request whose page was read; nil if it has ended.
    mutating func finish() -> Read? { current.take() }

    // MARK: Waiting

    /// Makes a request wait for the next commit.
    mutating func waitForCommit(_ read: Read) {
        connections[read.connection, default: Requests(uid: read.uid)].atEnd.append(read)
        atEndCount += 1
    }

    /// Makes a request, and all others of its connection, wait until the connection has room.
    mutating func waitForRoom(_ read: Read) {
        connections[read.connection, default: Requests(uid: read.uid)].isBlocked = true
        connections[read.connection]?.waiting.prepend(read)
    }

    /// Must be called when messages were committed, their commit failed, or an announced value has changed.
    ///
    /// - Parameter isDone: Whether a request that waits for a commit needs a page now. May change the request.
    mutating func committed(where isDone: (inout Read) -> Bool = { _ in true }) {
        guard atEndCount > 0 else { return }
        var changed: [ConnectionID] = []
        // The indices of a dictionary would keep a copy of it.
        var index = connections.startIndex
        while index != connections.endIndex {
            let before = connections.values[index].atEnd.count
            if before > 0 {
                connections.values[index].committed(where: isDone)
                let woken = before - connections.values[index].atEnd.count
                atEndCount -= woken
                if woken > 0 { changed.append(connections.keys[index]) }
            }
            connections.formIndex(after: &index)
        }
        for connection in changed.sorted(by: { $0.slot < $1.slot }) { update(connection) }
    }

    /// Must be called when a connection has room again.
    mutating func wake(_ connection: ConnectionID) {
        connections[connection]?.isBlocked = false
        update(connection)
    }

    // MARK: Ending

    /// Removes and returns a request that may wait for a commit; nil if there is no such request.
    mutating func end(_ connection: ConnectionID, request: UInt64) -> Read? {
        if let read = current, read.connection == connection, read.request == request, read.mayWait {
            return current.take()
        }
        guard let before = connections[connection]?.atEnd.count else { return nil }
        let read = connections[connection]?.end(request)
        atEndCount -= before - (connections[connection]?.atEnd.count ?? 0)
        update(connection)
        return read
    }

    /// The unanswered requests.
    var all: some Sequence<Read> {
        [connections.values.flatMap { $0.atEnd.all + $0.waiting.all }, [current].compactMap { $0 }].joined()
    }

    /// Removes the requests of a connection that ends, and returns them.
    mutating func remove(_ connection: ConnectionID) -> [Read] {
        var removed: [Read] = []
        if let requests = connections.removeValue(forKey: connection) {
            removed = requests.atEnd.all + requests.waiting.all
            atEndCount -= requests.atEnd.count
            removeEndedFromQueue()
        }
        if let read = current, read.connection == connection {
            removed.append(read)
            current = nil
        }
        return removed
    }

    /// Removes ended connections from the queue once most have ended, so that the cost of each removal stays constant.
    private mutating func removeEndedFromQueue() {
        guard queue.count > 2 * connections.count + 64 else { return }
        for connection in queue.removeAll() {
            if let requests = connections[connection] { queue.append(connection, of: requests.uid) }
        }
    }
}
