import DequeModule
import NotifyWire

/// A request that continues when the store has found the first message of a time.
struct TimeSearch {
    enum Purpose {
        /// To create a subscription that begins at the time.
        case subscribe(Subscribe)
        /// To move the cursor of a durable subscription to the time.
        case reset(Reset)
        /// To report the sequence.
        case find(request: UInt64)
    }

    let connection: ConnectionID
    let purpose: Purpose
    /// In microseconds since 1970.
    let time: UInt64

    var request: UInt64 {
        switch purpose {
        case .subscribe(let subscribe): subscribe.request
        case .reset(let reset): reset.request
        case .find(let request): request
        }
    }

    /// The memory of the request, in bytes.
    var byteCount: Int {
        guard case .subscribe(let subscribe) = purpose else { return 256 }
        return subscribe.patterns.reduce(256 + subscribe.object.utf8.count) { $0 + 32 + $1.utf8.count }
    }
}

/// The requests that wait for the store to find the first message of a time. The store is asked for one at a time, so
/// that a commit waits for one search at most.
///
/// Reading from a connection is paused while its request waits, so a connection has at most one.
struct TimeSearches {
    private var waiting: Deque<TimeSearch> = []
    /// The search that the store performs; nil if there is none, or if its connection has ended.
    private var current: TimeSearch?
    /// The time at which the store was asked; nil if no answer is pending.
    private(set) var started: Duration?

    mutating func append(_ search: TimeSearch) {
        waiting.append(search)
    }

    /// Begins the next search if none is being performed.
    mutating func begin(now: Duration) -> TimeSearch? {
        guard started == nil, let search = waiting.popFirst() else { return nil }
        current = search
        started = now
        return search
    }

    /// Ends the search that the store has answered, and returns it if its request still waits.
    mutating func finish() -> TimeSearch? {
        started = nil
        return current.take()
    }

    /// Removes and returns the search of a connection that ends.
    mutating func remove(_ connection: ConnectionID) -> TimeSearch? {
        if current?.connection == connection { return current.take() }
        return waiting.firstIndex { $0.connection == connection }.map { waiting.remove(at: $0) }
    }

    /// Removes and returns all searches.
    mutating func removeAll() -> [TimeSearch] {
        defer { waiting = [] }
        return [current.take()].compactMap { $0 } + waiting
    }
}
