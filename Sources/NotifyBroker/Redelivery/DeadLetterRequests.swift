import DequeModule

/// Requests for dead letters, of which the store works on one at a time.
struct DeadLetterRequests {
    private var waiting: Deque<DeadLetterRequest> = []
    /// The request that the store works on; nil if there is none, or if its connection has ended.
    private(set) var current: DeadLetterRequest?
    /// The time at which the store was asked; nil if no answer is pending.
    private(set) var started: Duration?

    /// Whether no request waits.
    var isEmpty: Bool { waiting.isEmpty }

    /// The unanswered requests.
    var all: [DeadLetterRequest] { [current].compactMap { $0 } + waiting }

    mutating func append(_ request: DeadLetterRequest) {
        waiting.append(request)
    }

    /// Begins the next request if the store works on none.
    mutating func begin(now: BrokerTime) -> DeadLetterRequest? {
        guard started == nil, let request = waiting.popFirst() else { return nil }
        current = request
        started = now.monotonic
        return request
    }

    /// Ends the request that the store has answered, and returns it if its connection still waits.
    mutating func finish() -> DeadLetterRequest? {
        started = nil
        return current.take()
    }

    /// Whether a request of the connection is unanswered.
    func hasRequest(of connection: ConnectionID) -> Bool {
        current?.connection == connection || waiting.contains { $0.connection == connection }
    }

    /// Removes and returns the request of a connection that ends, which has one at most.
    mutating func remove(_ connection: ConnectionID) -> DeadLetterRequest? {
        if current?.connection == connection { return current.take() }
        return waiting.firstIndex { $0.connection == connection }.map { waiting.remove(at: $0) }
    }

    /// Removes and returns all requests.
    mutating func removeAll() -> [DeadLetterRequest] {
        defer { waiting = [] }
        return [current.take()].compactMap { $0 } + waiting
    }
}
