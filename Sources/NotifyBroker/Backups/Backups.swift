import NotifyWire

/// The backup under way. There is one at a time. It ends with its connection, and for another one if its client has
/// stopped reading it.
struct Backups {
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

    private var current: Backup?
    /// The connection whose backup was ended for another one.
    private var displaced: ConnectionID?
    private var lastNumber: UInt64 = 0

    /// Begins a backup.
    ///
    /// - Returns: Its number, and whether it has ended one whose client has stopped reading.
    /// - Throws: `limitReached` while another backup is under way.
    mutating func begin(
        _ connection: ConnectionID, request: UInt64, now: Duration
    ) throws(WireError) -> (number: UInt64, endsAnother: Bool) {
        let earlier = current
        if let earlier {
            guard earlier.connection != connection, case .ready(let since) = earlier.state,
                now - since >= Self.idleLimit
            else { throw WireError(.limitReached, "another backup is under way: wait until it has ended") }
            displaced = earlier.connection
        }
        lastNumber += 1
        current = Backup(number: lastNumber, connection: connection, state: .copying(request: request))
        return (lastNumber, earlier != nil)
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
        /// The backup has ended. The request that waited for an answer gets none.
        case end(abandoned: UInt64?)
    }

    /// A chunk was requested.
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
        current.map { $0.connection == connection && $0.waitingRequest != nil } ?? false
    }

    /// The connection has ended.
    ///
    /// - Returns: Whether its backup has ended with it.
    mutating func ended(_ connection: ConnectionID) -> Bool {
        if displaced == connection { displaced = nil }
        guard current?.connection == connection else { return false }
        current = nil
        return true
    }
}
