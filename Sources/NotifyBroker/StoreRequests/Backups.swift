import DequeModule
import NotifyWire

/// The backup under way, and the requests that wait for its end. One backup is under way at a time. It ends when its
/// connection ends, or when another request waits and its client has stopped reading it.
struct Backups {
    /// A request that waits for its turn.
    struct Request {
        let connection: ConnectionID
        let request: UInt64
        let target: FileLocation
    }

    /// The most requests that wait for their turn at the same time.
    static let maximumRequests = 8

    private struct Backup {
        enum State {
            /// The store copies the log. The request waits.
            case copying(request: UInt64)
            /// The client may request a chunk. `since` is a monotonic time.
            case ready(since: Duration)
            /// The store reads a chunk. The request waits.
            case reading(request: UInt64)
        }

        /// Distinguishes the backup from earlier ones, whose outcomes may arrive late.
        let number: UInt64
        let connection: ConnectionID
        var state: State
        /// The size in bytes, once the log is copied.
        var bytes: UInt64 = 0

        /// The request that waits for an answer, if there is one.
        var waitingRequest: UInt64? {
            switch state {
            case .copying(let request), .reading(let request): request
            case .ready: nil
            }
        }
    }

    /// A request that waits for its answer.
    struct Waiting: Equatable {
        let connection: ConnectionID
        let request: UInt64
    }

    /// How long a client may take to request the next chunk while another client waits to begin a backup.
    static let idleLimit = Duration.seconds(30)

    private var queue: Deque<Request> = []
    private var current: Backup?
    /// The connection whose backup was ended to make room for a waiting request.
    private var displaced: ConnectionID?
    /// The number of the backup begun last.
    private(set) var lastNumber: UInt64 = 0

    /// Adds a request, whose backup begins when the earlier ones have ended.
    mutating func add(_ request: Request) throws(WireError) {
        guard current?.connection != request.connection, queued(by: request.connection) == nil else {
            throw WireError(.invalidArgument, "this connection already makes a backup: wait until it has ended")
        }
        guard queue.count < Self.maximumRequests else {
            throw WireError(.limitReached, "\(Self.maximumRequests) requests wait for a backup: try again later")
        }
        queue.append(request)
    }

    private func queued(by connection: ConnectionID) -> Int? {
        queue.firstIndex { $0.connection == connection }
    }

    /// Removes and returns the next request; nil if there is none, or while a backup is under way.
    mutating func takeNext() -> Request? {
        current == nil ? queue.popFirst() : nil
    }

    /// Begins a backup. None may be under way.
    ///
    /// - Returns: Its number.
    mutating func begin(_ request: Request) -> UInt64 {
        lastNumber += 1
        current = Backup(number: lastNumber, connection: request.connection, state: .copying(request: request.request))
        return lastNumber
    }

    /// Removes and returns the requests that wait for their turn.
    mutating func takeAll() -> [Request] {
        defer { queue.removeAll() }
        return Array(queue)
    }

    /// The time at which the backup under way makes room for a waiting request, unless its client continues to read;
    /// nil if no request waits.
    var deadline: Duration? {
        guard !queue.isEmpty, case .ready(let since)? = current?.state else { return nil }
        return since + Self.idleLimit
    }

    /// Ends the backup under way if its deadline has passed.
    ///
    /// - Returns: Whether it was ended.
    mutating func endIdle(now: Duration) -> Bool {
        guard let deadline, deadline <= now else { return false }
        displaced = current?.connection
        current = nil
        return true
    }

    /// The log was copied.
    ///
    /// - Returns: The request to answer; nil if the backup has ended.
    mutating func copied(_ number: UInt64, bytes: UInt64, now: Duration) -> Waiting? {
        if current?.number == number { current?.bytes = bytes }
        return answered(number, now: now)
    }

    /// A chunk was read.
    ///
    /// - Returns: The request to answer; nil if the backup has ended.
    mutating func chunkRead(_ number: UInt64, now: Duration) -> Waiting? { answered(number, now: now) }

    private mutating func answered(_ number: UInt64, now: Duration) -> Waiting? {
        guard let backup = current, backup.number == number, let request = backup.waitingRequest else { return nil }
        current?.state = .ready(since: now)
        return Waiting(connection: backup.connection, request: request)
    }

    enum ChunkAction: Equatable {
        case read(number: UInt64)
        /// The backup has ended. The request that waited for an answer is refused.
        case end(abandoned: UInt64?)
        /// The request no longer waits for its turn, and is refused.
        case leave(abandoned: UInt64)
    }

    /// A chunk was requested.
    mutating func chunkRequested(
        by connection: ConnectionID, offset: UInt64, request: UInt64
    ) throws(WireError) -> ChunkAction {
        guard let backup = current, backup.connection == connection else {
            if offset == BackupChunkRequest.end, let index = queued(by: connection) {
                return .leave(abandoned: queue.remove(at: index).request)
            }
            if displaced == connection {
                throw WireError(
                    .limitReached,
                    "the backup was ended for another one, because none of it was read for \(Self.idleLimit.text): "
                        + "begin it again")
            }
            throw WireError(.invalidArgument, "this connection has no backup to read from: begin one")
        }
        switch backup.state {
        case .ready where offset < backup.bytes:
            current?.state = .reading(request: request)
            return .read(number: backup.number)
        case .copying, .reading:
            guard offset == BackupChunkRequest.end else {
                throw WireError(.invalidArgument, "the last request about the backup is not answered yet")
            }
            fallthrough
        case .ready:
            current = nil
            return .end(abandoned: backup.waitingRequest)
        }
    }

    /// The backup failed.
    ///
    /// - Returns: The request to refuse; nil if the backup has ended.
    mutating func failed(_ number: UInt64) -> Waiting? {
        guard let backup = current, backup.number == number, let request = backup.waitingRequest else { return nil }
        current = nil
        return Waiting(connection: backup.connection, request: request)
    }

    /// Whether a request of the connection waits for an answer.
    func isAwaited(by connection: ConnectionID) -> Bool {
        queued(by: connection) != nil
            || current.map { $0.connection == connection && $0.waitingRequest != nil } ?? false
    }

    /// The connection has ended.
    ///
    /// - Returns: Whether its backup has ended with it.
    mutating func ended(_ connection: ConnectionID) -> Bool {
        if displaced == connection { displaced = nil }
        queue.removeAll { $0.connection == connection }
        guard current?.connection == connection else { return false }
        current = nil
        return true
    }
}
