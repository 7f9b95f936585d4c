import DequeModule
import NotifyLog

/// A request to delete stored messages that the store has not answered yet.
struct PendingPurge {
    let connection: ConnectionID
    let request: UInt64
    let purge: PurgeRequest

    /// The memory of the request, in bytes.
    var byteCount: Int { 256 + purge.filter.byteCount }
}

/// The requests to delete stored messages. The store works on one at a time. A purge that has begun continues if its
/// connection ends; one that waits is dropped.
struct Purges {
    private var waiting: Deque<PendingPurge> = []
    /// The request that the store works on; nil if there is none, or if its connection has ended.
    private var current: PendingPurge?
    /// Whether the store's answer is pending.
    private var isStarted = false

    mutating func append(_ purge: PendingPurge) {
        waiting.append(purge)
    }

    /// Begins the next purge, if the store works on none.
    mutating func begin() -> PurgeRequest? {
        guard !isStarted, let purge = waiting.popFirst() else { return nil }
        current = purge
        isStarted = true
        return purge.purge
    }

    /// Ends the purge that the store has answered, and returns its request if it still waits.
    mutating func finish() -> PendingPurge? {
        isStarted = false
        return current.take()
    }

    /// Whether a request of the connection is unanswered.
    func hasRequest(of connection: ConnectionID) -> Bool {
        current?.connection == connection || waiting.contains { $0.connection == connection }
    }

    /// Removes and returns the request of a connection that ends.
    mutating func remove(_ connection: ConnectionID) -> PendingPurge? {
        if current?.connection == connection { return current.take() }
        return waiting.firstIndex { $0.connection == connection }.map { waiting.remove(at: $0) }
    }

    /// Removes and returns all requests.
    mutating func removeAll() -> [PendingPurge] {
        defer { waiting = [] }
        return [current.take()].compactMap { $0 } + waiting
    }
}
