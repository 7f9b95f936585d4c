/// A request of a client that waits for an answer of the store. Until the answer, its memory is charged to the user.
struct StoreRequest {
    let id: RequestID
    let charge: Charge
    var task: any StoreTask
    /// The generation of the policy under which the store was asked.
    var rights: UInt32 = 0
    /// Whether the answer is not needed any more, because the connection has ended or the request was refused.
    fileprivate(set) var isAbandoned = false

    init(id: RequestID, charge: Charge, task: some StoreTask) {
        self.id = id
        self.charge = charge
        self.task = task
    }

    var kind: StoreRequestKind { type(of: task).kind }
}

/// The requests that wait for the store. The store works on one request of each kind at a time. The slices of different
/// kinds alternate, so a short request waits for only one slice of a long one. Among the requests of a kind, users take
/// turns.
struct StoreRequests {
    private struct Lane {
        var waiting = UserQueue<StoreRequest>()
        /// The request on which the store works.
        var current: StoreRequest?
    }

    /// The requests of each kind.
    private var lanes = StoreRequestKind.all.map { _ in Lane() }
    private var count = 0
    /// The backup under way.
    var backups = Backups()
    /// The time at which the unanswered request of a short task began (see ``StoreTask/isShort``); nil if there is
    /// none.
    private(set) var shortWorkStarted: Duration?

    private subscript(kind: StoreRequestKind) -> Lane {
        _read { yield lanes[kind.rawValue] }
        _modify { yield &lanes[kind.rawValue] }
    }

    /// Whether no request waits or is current. The backup under way does not count.
    var isEmpty: Bool { count == 0 }

    // MARK: The life of a request

    mutating func append(_ request: StoreRequest) {
        count += 1
        self[request.kind].waiting.append(request, of: request.charge.uid)
    }

    /// The next request of a kind; nil while the store works on one of the kind.
    mutating func next(of kind: StoreRequestKind) -> StoreRequest? {
        guard count > 0, self[kind].current == nil else { return nil }
        return self[kind].waiting.first()
    }

    /// Takes the request that `next` has returned.
    mutating func takeNext(of kind: StoreRequestKind) -> StoreRequest? {
        let request = self[kind].waiting.next()
        if request != nil { count -= 1 }
        return request
    }

    /// Records that a request has begun, or continues after an answer.
    mutating func begin(_ request: StoreRequest, now: BrokerTime) {
        if type(of: request.task).isShort { shortWorkStarted = now.monotonic }
        count += 1
        self[request.kind].current = request
    }

    /// Takes the request of a kind that the store has answered.
    mutating func finish(_ kind: StoreRequestKind) -> StoreRequest? {
        guard let request = self[kind].current.take() else { return nil }
        if type(of: request.task).isShort { shortWorkStarted = nil }
        count -= 1
        return request
    }

    /// The task of the current request; nil if there is none, or if its answer is not needed any more.
    func current<Task: StoreTask>(_: Task.Type) -> Task? {
        guard let current = self[Task.kind].current, !current.isAbandoned else { return nil }
        return current.task as? Task
    }

    /// Changes the task of the current request of this kind, if there is one.
    mutating func updateCurrent<Task: StoreTask>(_ change: (inout Task) -> Void) {
        guard var task = self[Task.kind].current?.task as? Task else { return }
        change(&task)
        self[Task.kind].current?.task = task
    }

    // MARK: The requests of a kind

    /// Whether no request of the kind waits, and the store works on none.
    func isIdle(_ kind: StoreRequestKind) -> Bool { self[kind].current == nil && self[kind].waiting.isEmpty }

    /// Whether the store works on a request of the kind.
    func isWorking(on kind: StoreRequestKind) -> Bool { self[kind].current != nil }

    /// The number of unanswered requests of the kind.
    func unansweredCount(of kind: StoreRequestKind) -> Int {
        waitingCount(of: kind) + (self[kind].current.map { $0.isAbandoned ? 0 : 1 } ?? 0)
    }

    /// The number of requests of the kind that have not begun.
    func waitingCount(of kind: StoreRequestKind) -> Int { self[kind].waiting.count }

    /// The requests of the kind that have not begun.
    func waiting(_ kind: StoreRequestKind) -> some Sequence<StoreRequest> { self[kind].waiting.all }

    /// Removes and returns the requests of the kind that have not begun.
    mutating func takeWaiting(_ kind: StoreRequestKind) -> [StoreRequest] {
        count -= self[kind].waiting.count
        return self[kind].waiting.removeAll()
    }

    // MARK: The end of connections

    /// Whether a request of the connection is unanswered.
    func hasRequest(of connection: ConnectionID, uid: UInt32) -> Bool {
        backups.isAwaited(by: connection)
            || count > 0 && StoreRequestKind.all.contains { hasRequest(of: connection, uid: uid, $0) }
    }

    func hasRequest(of connection: ConnectionID, uid: UInt32, _ kind: StoreRequestKind) -> Bool {
        if let current = self[kind].current, current.id.connection == connection, !current.isAbandoned { return true }
        return self[kind].waiting.contains(of: uid) { $0.id.connection == connection }
    }

    /// Removes the requests of a connection that ends. Work that the store has begun continues.
    ///
    /// - Returns: The removed requests. The caller must release their charges.
    mutating func remove(_ connection: ConnectionID, uid: UInt32) -> [StoreRequest] {
        guard count > 0 else { return [] }
        return StoreRequestKind.all.flatMap { kind in
            removeWaiting(kind, of: connection, uid: uid) + abandonCurrent(kind) { $0.id.connection == connection }
        }
    }

    /// Removes and returns a connection's requests of the kind that have not begun.
    mutating func removeWaiting(
        _ kind: StoreRequestKind, of connection: ConnectionID, uid: UInt32
    ) -> [StoreRequest] {
        let removed = self[kind].waiting.remove(of: uid) { $0.id.connection == connection }
        count -= removed.count
        return removed
    }

    /// Removes all requests. Work that the store has begun continues.
    ///
    /// - Returns: The removed requests. The caller must release their charges.
    mutating func removeAll() -> [StoreRequest] {
        StoreRequestKind.all.flatMap { kind in abandonCurrent(kind) { _ in true } + takeWaiting(kind) }
    }

    private mutating func abandonCurrent(
        _ kind: StoreRequestKind, if isEnded: (StoreRequest) -> Bool
    ) -> [StoreRequest] {
        guard let current = self[kind].current, !current.isAbandoned, isEnded(current) else { return [] }
        if current.task.awaitsAnswer { self[kind].current?.isAbandoned = true } else { _ = finish(kind) }
        return [current]
    }

    // MARK: Charges

    /// The charges of all requests.
    var charges: [Charge] {
        lanes.flatMap { lane in
            lane.waiting.all.map(\.charge) + [lane.current].compactMap { $0 }.filter { !$0.isAbandoned }.map(\.charge)
        }
    }
}
