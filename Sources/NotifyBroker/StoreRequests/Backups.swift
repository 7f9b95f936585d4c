import NotifyWire

/// The backup under way. It ends when its client asks for the end, with its connection, or when its client has stopped
/// reading it while another request waits.
struct Backups {
    /// The maximum number of requests that wait for a backup.
    static let maximumRequests = 8

    private struct Backup {
        enum State {
            /// The store copies the log. The request to begin waits for the copy.
            case copying(request: UInt64)
            /// The client may request a chunk. `since` is a monotonic time.
            case ready(since: Duration)
            /// The store reads a chunk. The request for the chunk waits.
            case reading(request: UInt64)
        }

        /// Distinguishes the backup from earlier ones, whose outcomes may arrive late.
        let number: UInt64
        let connection: ConnectionID
        var state: State
        /// The size of the backup in bytes; 0 until the log is copied.
        var bytes: UInt64 = 0

        /// The request that waits for an answer, if there is one.
        var waitingRequest: RequestID? {
            switch state {
            case .copying(let request), .reading(let request): RequestID(connection: connection, number: request)
            case .ready: nil
            }
        }
    }

    /// The time within which a client must request the next chunk while another client waits to begin a backup.
    static let idleLimit = Duration.seconds(30)

    private var current: Backup?
    /// The connection whose backup was ended to make room for a waiting request.
    private var displaced: ConnectionID?
    /// The number of the latest backup.
    private(set) var lastNumber: UInt64 = 0

    /// Whether no backup is under way.
    var isIdle: Bool { current == nil }

    /// Whether the backup under way is that of the connection.
    func isMade(by connection: ConnectionID) -> Bool { current?.connection == connection }

    /// Begins a backup. None may be under way.
    ///
    /// - Returns: The number of the backup.
    mutating func begin(_ request: RequestID) -> UInt64 {
        lastNumber += 1
        current = Backup(
            number: lastNumber, connection: request.connection, state: .copying(request: request.number))
        return lastNumber
    }

    /// The time at which the backup under way makes room for a waiting request, unless its client continues to read.
    var idleDeadline: Duration? {
        guard case .ready(let since)? = current?.state else { return nil }
        return since + Self.idleLimit
    }

    /// Ends the backup under way if its client has requested no chunk by the deadline.
    ///
    /// - Returns: Whether the backup was ended.
    mutating func endIdle(now: Duration) -> Bool {
        guard let idleDeadline, idleDeadline <= now else { return false }
        displaced = current?.connection
        current = nil
        return true
    }

    /// Records that the log was copied.
    ///
    /// - Returns: The request to answer; nil if the backup has ended.
    mutating func copied(_ number: UInt64, bytes: UInt64, now: Duration) -> RequestID? {
        if current?.number == number { current?.bytes = bytes }
        return answered(number, now: now)
    }

    /// Records that a chunk was read.
    ///
    /// - Returns: The request to answer; nil if the backup has ended.
    mutating func chunkRead(_ number: UInt64, now: Duration) -> RequestID? { answered(number, now: now) }

    private mutating func answered(_ number: UInt64, now: Duration) -> RequestID? {
        guard let backup = current, backup.number == number, let request = backup.waitingRequest else { return nil }
        current?.state = .ready(since: now)
        return request
    }

    enum ChunkAction: Equatable {
        case read(number: UInt64)
        /// The backup has ended. The caller must refuse the request that waited for an answer.
        case end(abandoned: RequestID?)
    }

    /// Records a request for a chunk.
    mutating func chunkRequested(
        by connection: ConnectionID, offset: UInt64, request: UInt64
    ) throws(WireError) -> ChunkAction {
        guard let backup = current, backup.connection == connection else {
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

    /// Records that the backup has failed.
    ///
    /// - Returns: The request to refuse; nil if the backup has ended.
    mutating func failed(_ number: UInt64) -> RequestID? {
        guard let backup = current, backup.number == number, let request = backup.waitingRequest else { return nil }
        current = nil
        return request
    }

    /// Whether a request of the connection waits for an answer.
    func isAwaited(by connection: ConnectionID) -> Bool {
        current?.waitingRequest?.connection == connection
    }

    /// Records that the connection has ended.
    ///
    /// - Returns: Whether a backup has ended with the connection.
    mutating func ended(_ connection: ConnectionID) -> Bool {
        if displaced == connection { displaced = nil }
        guard current?.connection == connection else { return false }
        current = nil
        return true
    }
}
