import DequeModule

/// Whose turn it is to be processed, and how much work a turn of the event loop may take.
///
/// Work is counted in units of about 20 ns: see ``Cost``. What connections send is processed as it is read while the turn has
/// work left for that. A connection with more waits in a queue, is not read from meanwhile, and goes on in a later turn, a slice
/// at a time: next is the user for whom the least was done since the queue was empty, and the connections of a user take turns.
/// This is start-time fair queueing (Goyal, Vin and Cheng, 1996): each user gets an equal part of the work, or what it needs if
/// that is less.
struct Turns {
    /// What things cost, in units.
    enum Cost {
        /// A read from a connection's socket.
        static let read = 512
        /// A turn of a connection that waited: its reading was paused, and is resumed.
        static let turn = 640
        /// A write to a connection's socket.
        static let flush = 256
        static let frame = 14
        /// A message handed to one connection.
        static let delivery = 2
        /// Each 256 bytes received.
        static let bytesShift = 8
        static let statistics = 512
        static let refusal = 128
        static let subscribe = 256
        static let pattern = 256
        static let listEntry = 96
        /// Looking at each 256 bytes of messages again, to keep the latest of each name.
        static let reduction = 48
        /// What a unit is.
        static let nanoseconds = 20
    }

    /// Work on what is read in a turn, and the same again on what waits: about 1.3 ms each.
    static let unitsPerTurn = 1 << 16
    /// For one connection that waits.
    static let slice = 1 << 14
    /// For one connection that is read from while others of the same user wait.
    static let lightSlice = 1 << 11

    /// Users with connections that wait, in the order in which they came.
    private var users: [UInt32] = []
    private var waiting: [UInt32: Deque<ConnectionID>] = [:]
    /// The work done for each user since the queue was empty. A user that joins later starts at the clock.
    private var accounts: [UInt32: Int] = [:]
    /// What was done for the user whose turn came last, before that turn.
    private var clock = 0
    /// The work done so far.
    private(set) var spent = 0
    /// Where the work of this turn on what is read ends.
    private var readEnd = Self.unitsPerTurn
    private var sliceStart = 0
    /// Where the work for the connection that is being processed ends.
    private var sliceEnd = 0
    private var queueEnd = 0
    /// When the latest messages of each name may be kept in another outbox.
    private var nextReduction = Duration.zero

    @inline(__always)
    var isAnyoneWaiting: Bool { !users.isEmpty }

    @inline(__always)
    mutating func spend(_ units: Int) { spent &+= units }

    /// So much work may be done for a connection now.
    @inline(__always)
    mutating func beginSlice(_ units: Int) {
        sliceStart = spent
        sliceEnd = spent &+ units
    }

    /// Whether more may be done for the connection now.
    @inline(__always)
    var hasWorkLeft: Bool { spent < sliceEnd }

    /// The work that may be done on what was just read for a user. Where several users compete, what is read for one that is
    /// ahead waits, so that its connections are read from no faster than its turns come; one that is not ahead need not wait,
    /// whatever was done for others in this turn.
    @inline(__always)
    func readAllowance(of uid: UInt32) -> Int {
        users.isEmpty ? readEnd - spent : readAllowanceWhileSomeWait(of: uid)
    }

    private func readAllowanceWhileSomeWait(of uid: UInt32) -> Int {
        if waiting[uid] == nil, accounts[uid, default: 0] <= clock { return Self.slice }
        return accounts.count > 1 ? 0 : min(readEnd - spent, Self.lightSlice)
    }

    /// Whether nothing may be done on what was just read: its user is ahead of others that compete, or the turn is over.
    @inline(__always)
    var isSliceEmpty: Bool { sliceEnd <= sliceStart }

    /// What was done since the slice began was for the user.
    @inline(__always)
    mutating func endSlice(of uid: UInt32) {
        if isAnyoneWaiting { charge(spent - sliceStart, to: uid) }
    }

    /// Work was done for the user. What it left unused while others were served, it may use for a turn at most.
    mutating func charge(_ units: Int, to uid: UInt32) {
        accounts[uid] = max(accounts[uid] ?? clock, clock - Self.unitsPerTurn) + units
    }

    /// Queues a connection, which must not wait already.
    mutating func wait(_ id: ConnectionID, uid: UInt32) {
        if waiting[uid] == nil {
            users.append(uid)
            accounts[uid] = max(accounts[uid, default: 0], clock)
        }
        waiting[uid, default: []].append(id)
    }

    /// The turn of the loop has come to what waits.
    mutating func queueBegan() { queueEnd = spent + Self.unitsPerTurn }

    /// Takes the next connection that is to go on in this turn.
    mutating func next() -> ConnectionID? {
        guard spent < queueEnd, let index = users.indices.min(by: { account($0) < account($1) }) else { return nil }
        let uid = users.remove(at: index)
        guard var connections = waiting.removeValue(forKey: uid), let id = connections.popFirst() else { return nil }
        clock = accounts[uid, default: clock]
        if !connections.isEmpty {
            waiting[uid] = connections
            users.append(uid)
        }
        return id
    }

    private func account(_ index: Int) -> Int { accounts[users[index], default: clock] }

    /// The turn of the loop is over.
    mutating func ended() {
        readEnd = spent + Self.unitsPerTurn
        guard !isAnyoneWaiting, clock > 0 || !accounts.isEmpty else { return }
        accounts = [:]
        clock = 0
    }

    // MARK: Keeping the latest

    /// Reductions take up at most 1 of so many parts of the time.
    private static let reductionParts = 8

    /// Whether an outbox may be reduced to the latest messages of each name now.
    func mayReduce(now: Duration) -> Bool { now >= nextReduction }

    /// An outbox of so many bytes is reduced.
    mutating func reduced(bytes: Int, now: Duration) {
        let units = bytes >> 8 * Cost.reduction
        nextReduction = now + .nanoseconds(units * Cost.nanoseconds * Self.reductionParts)
    }
}
