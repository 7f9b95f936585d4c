import DequeModule
import NotifyWire

/// A request of a client that continues when the store has answered. Until then, its memory is charged to the user.
protocol StoreRequest {
    var connection: ConnectionID { get }
    var request: UInt64 { get }
    /// The memory of the request, in bytes.
    var byteCount: Int { get }
}

/// Requests of one kind that the store works on one at a time, so that a commit waits for one of them at most.
struct StoreRequests<Request: StoreRequest> {
    private var waiting: Deque<Request> = []
    /// The request that the store works on; nil if there is none, or if its connection has ended.
    private(set) var current: Request?
    /// The time at which the store was asked; nil if no answer is pending.
    private(set) var started: Duration?

    /// Whether no request waits, and the store works on none.
    var isIdle: Bool { started == nil && waiting.isEmpty }

    mutating func append(_ request: Request) {
        waiting.append(request)
    }

    /// Begins the next request if the store works on none.
    mutating func begin(now: BrokerTime, prepare: (inout Request) -> Void = { _ in }) -> Request? {
        guard started == nil, var request = waiting.popFirst() else { return nil }
        prepare(&request)
        current = request
        started = now.monotonic
        return request
    }

    /// Changes the request that the store works on, if its connection still waits.
    mutating func updateCurrent(_ change: (inout Request) -> Void) {
        guard var request = current else { return }
        change(&request)
        current = request
    }

    /// Ends the request that the store has answered, and returns it if its connection still waits.
    mutating func finish() -> Request? {
        started = nil
        return current.take()
    }

    /// Whether a request of the connection is unanswered.
    func hasRequest(of connection: ConnectionID) -> Bool {
        current?.connection == connection || waiting.contains { $0.connection == connection }
    }

    /// Removes and returns the request of a connection that ends, which has one at most.
    mutating func remove(_ connection: ConnectionID) -> Request? {
        if current?.connection == connection { return current.take() }
        return waiting.firstIndex { $0.connection == connection }.map { waiting.remove(at: $0) }
    }

    /// Removes and returns all requests.
    mutating func removeAll() -> [Request] {
        defer { waiting = [] }
        return [current.take()].compactMap { $0 } + waiting
    }
}

extension Broker {
    /// Charges the memory of a request to its user.
    ///
    /// - Throws: `limitReached` if the user has no room.
    mutating func charge(_ request: some StoreRequest) throws(WireError) {
        let uid = connections[request.connection.slot].uid
        try ledger.checkRoom(for: request.byteCount, uid: uid)
        ledger.change(.pendingBytes, by: request.byteCount, uid: uid)
    }

    /// Ends the charge of a request.
    mutating func uncharge(_ request: some StoreRequest) {
        ledger.change(.pendingBytes, by: -request.byteCount, uid: connections[request.connection.slot].uid)
    }

    /// Refuses requests that are not answered yet, because the daemon stops.
    mutating func refuse(_ requests: [some StoreRequest], _ what: String) {
        for request in requests {
            uncharge(request)
            refuse(
                request.connection.slot, request: request.request,
                WireError(.closing, "\(what): the daemon is shutting down"))
        }
    }
}
