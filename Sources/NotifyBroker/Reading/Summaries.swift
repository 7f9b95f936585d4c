import DequeModule
import NotifyLog

/// A request for the stored messages of each name that the store has not answered yet.
struct SummaryRead {
    let connection: ConnectionID
    let request: UInt64
    let filter: SubscriptionFilter
    /// The first and the last sequence of the range.
    let first: UInt64
    let last: UInt64
    let maximumNames: Int
    /// The generation of the policy under which the store was asked.
    var rights: UInt32 = 0

    /// The memory of the request, in bytes.
    var byteCount: Int { 256 + filter.byteCount }
}

/// The requests for the stored messages of each name. The store is asked for one at a time.
///
/// Reading from a connection is paused while its request waits, so a connection has at most one.
struct Summaries {
    private var waiting: Deque<SummaryRead> = []
    /// The request that the store works on; nil if there is none, or if its connection has ended.
    private var current: SummaryRead?
    /// Whether the store's answer is pending.
    private var isStarted = false

    mutating func append(_ read: SummaryRead) {
        waiting.append(read)
    }

    /// Begins the next request, under these rights, if the store works on none.
    mutating func begin(rights: UInt32) -> SummaryRead? {
        guard !isStarted, var read = waiting.popFirst() else { return nil }
        read.rights = rights
        current = read
        isStarted = true
        return read
    }

    /// Ends the request that the store has answered, and returns it if it still waits.
    mutating func finish() -> SummaryRead? {
        isStarted = false
        return current.take()
    }

    /// Removes and returns the request of a connection that ends.
    mutating func remove(_ connection: ConnectionID) -> SummaryRead? {
        if current?.connection == connection { return current.take() }
        return waiting.firstIndex { $0.connection == connection }.map { waiting.remove(at: $0) }
    }

    /// Removes and returns all requests.
    mutating func removeAll() -> [SummaryRead] {
        defer { waiting = [] }
        return [current.take()].compactMap { $0 } + waiting
    }
}
