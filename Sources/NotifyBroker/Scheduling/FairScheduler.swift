import DequeModule

/// Schedules the processing of connections fairly, and bounds the work of a turn of the event loop.
///
/// Work is counted in units of about 20 ns: see ``Cost``. Received frames are processed as they are read until the
/// turn's budget for reads is used up. A connection with frames left is queued. Reading from a queued connection is
/// paused, and its frames are processed in later turns, one slice at a time.
///
/// The queue serves the user for whom the least work was done since the queue was last empty. It serves a user's
/// connections in round-robin order. This is start-time fair queueing (Goyal, Vin and Cheng, 1996): each user gets an
/// equal share of the work, or less if the user needs less.
struct FairScheduler {
    /// The cost of operations, in units.
    enum Cost {
        /// A read from a connection's socket.
        static let read = 512
        /// A turn of a queued connection, including the cost of pausing and resuming reading.
        static let turn = 640
        /// A write to a connection's socket.
        static let flush = 256
        /// The end of a connection, mostly in NIO and in the kernel.
        static let close = 768
        static let frame = 14
        /// A message delivered to one connection.
        static let delivery = 1
        /// Received bytes cost 1 unit per 256 bytes, computed as a shift by 8 bits.
        static let bytesShift = 8
        static let statistics = 512
        /// A post while posts are recorded.
        static let recording = 10
        /// A page of the log for a trace, for history or for dead letters, or another request of about this cost.
        static let trace = 2_048
        /// Comparing a traced message with one pattern of a durable subscription.
        static let tracePattern = 4
        /// A request for which the store goes through the log: a search for a time, a count, a check or a purge.
        static let search = 2_048
        static let refusal = 128
        /// The number of messages in flight, redeliveries or members that are visited at the cost of one unit.
        static let visitsPerUnit = 4
        static let subscribe = 256
        static let pattern = 256
        /// The end of an attachment to a durable subscription.
        static let detach = 64
        static let listEntry = 96
        /// A connection that a list may contain.
        static let listVisit = 4
        /// A pattern of a volatile subscription. Such patterns are read from the trie.
        static let listPattern = 32
        /// The reduction of an outbox to the latest message of each name and object, per 256 bytes of messages.
        static let reduction = 48
        /// The duration of a unit.
        static let nanoseconds = 20
    }

    /// The budget of a turn of the event loop, at most about 2.6 ms. Frames that are processed as they are read have
    /// one such budget, and queued connections have another.
    ///
    /// A turn also flushes outboxes and reads the tail ring. This budget does not include that work. With a smaller
    /// budget, a turn spends most of its time on that work, and a user's share of the input becomes too small.
    static let unitsPerTurn = 1 << 17
    /// The work for one queued connection before the next one is served.
    static let slice = 1 << 14
    /// The maximum work on bytes that were just read, while other connections of the same user are queued and no other
    /// user competes.
    static let reducedSlice = 1 << 11

    /// Users with queued connections, in order of arrival.
    private var users: [UInt32] = []
    private var queued: [UInt32: Deque<ConnectionID>] = [:]
    /// The work done for each user since the queue was last empty. A user that joins later starts at the virtual time.
    private var accounts: [UInt32: Int] = [:]
    /// The virtual time: the account of the user served last, at the time when `next` took the user's connection.
    private var virtualTime = 0
    /// The total work done.
    private(set) var spent = 0
    /// The value of `spent` at which this turn's budget for reads ends.
    private var readEnd = Self.unitsPerTurn
    private var sliceStart = 0
    /// The value of `spent` at which the slice of the current connection ends.
    private var sliceEnd = 0
    /// The value of `spent` at which this turn's budget for queued connections ends.
    private var queueEnd = 0
    /// The earliest time at which an outbox may be reduced to its latest messages again.
    private var nextReduction = Duration.zero

    @inline(__always)
    var hasQueuedConnections: Bool { !users.isEmpty }

    @inline(__always)
    mutating func spend(_ units: Int) { spent &+= units }

    /// Begins a slice of work for a connection.
    @inline(__always)
    mutating func beginSlice(_ units: Int) {
        sliceStart = spent
        sliceEnd = spent &+ units
    }

    /// Whether the current slice is not used up yet.
    @inline(__always)
    var hasBudgetLeft: Bool { spent < sliceEnd }

    /// Returns the work that may be done for a user on bytes that were just read:
    ///
    /// - If no connections are queued: the rest of the turn's budget.
    /// - If the user has no queued connections and is not ahead of the virtual time: a slice, regardless of the budget.
    /// - Otherwise, if other users compete: none. The user's turns in the queue then limit how fast its input is read.
    /// - Otherwise: at most ``reducedSlice``.
    @inline(__always)
    func readAllowance(of uid: UInt32) -> Int {
        users.isEmpty ? readEnd - spent : competingReadAllowance(of: uid)
    }

    private func competingReadAllowance(of uid: UInt32) -> Int {
        if queued[uid] == nil, accounts[uid, default: 0] <= virtualTime { return Self.slice }
        return accounts.count > 1 ? 0 : min(readEnd - spent, Self.reducedSlice)
    }

    /// Whether the current slice began empty: the connection is paused or queued, or its user has no read allowance.
    @inline(__always)
    var isSliceEmpty: Bool { sliceEnd <= sliceStart }

    /// Ends the slice, and charges its work to the user if connections are queued.
    @inline(__always)
    mutating func endSlice(of uid: UInt32) {
        if hasQueuedConnections { charge(spent - sliceStart, to: uid) }
    }

    /// Charges work to a user. A user that used less than its share may catch up by at most one turn's budget.
    mutating func charge(_ units: Int, to uid: UInt32) {
        accounts[uid] = max(accounts[uid] ?? virtualTime, virtualTime - Self.unitsPerTurn) + units
    }

    /// Queues a connection, which must not be queued already.
    mutating func enqueue(_ id: ConnectionID, uid: UInt32) {
        if queued[uid] == nil {
            users.append(uid)
            accounts[uid] = max(accounts[uid, default: 0], virtualTime)
        }
        queued[uid, default: []].append(id)
    }

    /// Begins this turn's budget for queued connections.
    mutating func beginServingQueue() { queueEnd = spent + Self.unitsPerTurn }

    /// Takes the next connection to process in this turn; nil if the budget is used up or the queue is empty.
    mutating func next() -> ConnectionID? {
        guard spent < queueEnd, let index = users.indices.min(by: { account($0) < account($1) }) else { return nil }
        let uid = users.remove(at: index)
        guard var connections = queued.removeValue(forKey: uid), let id = connections.popFirst() else { return nil }
        virtualTime = accounts[uid, default: virtualTime]
        if !connections.isEmpty {
            queued[uid] = connections
            users.append(uid)
        }
        return id
    }

    private func account(_ index: Int) -> Int { accounts[users[index], default: virtualTime] }

    /// Ends the turn. If the queue is empty, all accounts are cleared.
    mutating func turnEnded() {
        readEnd = spent + Self.unitsPerTurn
        guard !hasQueuedConnections, virtualTime > 0 || !accounts.isEmpty else { return }
        accounts = [:]
        virtualTime = 0
    }

    // MARK: Reducing outboxes

    /// The minimum time from one reduction to the next, as a multiple of the estimated duration of the first.
    /// Reductions thus take at most 1/8 of the time.
    private static let reductionParts = 8

    /// Whether an outbox may now be reduced to the latest message of each name and object.
    func mayReduce(now: Duration) -> Bool { now >= nextReduction }

    /// Records that an outbox of `bytes` bytes is reduced now, and delays the next reduction accordingly.
    mutating func reduced(bytes: Int, now: Duration) {
        let units = bytes >> 8 * Cost.reduction
        nextReduction = now + .nanoseconds(units * Cost.nanoseconds * Self.reductionParts)
    }
}
