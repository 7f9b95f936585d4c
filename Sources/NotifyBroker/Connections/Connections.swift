import NotifyWire

/// The connections by slot, their deadlines, and the drain state of the daemon.
struct Connections {
    enum Drain {
        case notBegun
        case committing
        case done
    }

    private var table = SlotTable<ConnectionID, Connection>()
    /// Connections that may have a deadline.
    private var timed: Set<ConnectionSlot> = []
    /// A lower bound of all deadlines. Cached, because a scan in every tick would let idle connections slow all others.
    private var earliestDeadline: Duration?
    private(set) var drain = Drain.notBegun
    /// The number of connections opened so far.
    private var openedCount: UInt64 = 0
    /// The number of closed connections whose sockets hold unread bytes. They still count as connections.
    var leftSockets = 0

    var count: Int { table.count }
    /// The slots in use, lowest first.
    var slots: [ConnectionSlot] { table.indices.map { ConnectionSlot(Int32($0)) } }

    /// The end of the range of slots, free ones included.
    var slotEnd: Int { table.endIndex }

    @inline(__always)
    func contains(_ id: ConnectionID) -> Bool { table.contains(id) }
    /// The id of the connection in a slot; nil if there is none.
    func id(in slot: ConnectionSlot) -> ConnectionID? { table.isUsed(slot.index) ? self[slot].id : nil }

    /// The connection in a slot that is in use.
    subscript(slot: ConnectionSlot) -> Connection {
        @inline(__always) _read { yield table[slot.index] }
        @inline(__always) _modify { yield &table[slot.index] }
    }

    // MARK: Opening and closing

    mutating func open(
        _ peer: Peer, identity: IdentityID, greetingDeadline: Duration, openedMicroseconds: UInt64 = 0,
        retainedBlocks: RetainedBlocks = RetainedBlocks()
    ) -> ConnectionID {
        openedCount += 1
        let number = openedCount
        let id = table.insert { id in
            Connection(
                id: id, number: number, openedMicroseconds: openedMicroseconds, peer: peer, identity: identity,
                session: Session(greetingDeadline: greetingDeadline), retainedBlocks: retainedBlocks)
        }
        watchDeadline(of: id.slot)
        return id
    }

    mutating func greeted(_ slot: ConnectionSlot, by hello: Hello) {
        self[slot].session.greeted()
        self[slot].instance = hello.instance
        self[slot].overflow = hello.overflow
        timed.remove(slot)
    }

    /// Records that a final error was sent. The connection is closed once the error is written, at the latest at the
    /// deadline.
    mutating func failed(_ slot: ConnectionSlot, closingDeadline: Duration) {
        self[slot].session.failed(closingDeadline: closingDeadline)
        watchDeadline(of: slot)
    }

    mutating func remove(_ slot: ConnectionSlot) {
        table.remove(slot.index)
        timed.remove(slot)
    }

    /// Records the number of a received request.
    ///
    /// - Throws: `invalidArgument` if the number is not higher than all earlier ones.
    @inline(__always)
    mutating func requestReceived(_ request: UInt64, from slot: ConnectionSlot) throws(WireError) {
        try table.update(slot.index) { (connection) throws(WireError) in
            try connection.session.requestReceived(request)
        }
    }

    /// Marks a connection as draining, so that its frames are ignored. For connections that are opened after the drain
    /// began.
    mutating func drainBegan(for slot: ConnectionSlot) {
        self[slot].session.drainBegan()
    }

    // MARK: Deadlines

    var nextDeadline: Duration? { timed.isEmpty ? nil : earliestDeadline }

    private mutating func watchDeadline(of slot: ConnectionSlot) {
        guard let deadline = self[slot].session.deadline else { return }
        timed.insert(slot)
        earliestDeadline = min(earliestDeadline ?? deadline, deadline)
    }

    /// The maximum number of connections that expire in one turn of the event loop.
    static let expiredPerTurn = 512

    /// Takes connections whose deadline has passed, at most ``expiredPerTurn``. If more connections have expired,
    /// `nextDeadline` remains in the past.
    mutating func takeExpired(now: Duration) -> [ConnectionSlot] {
        guard let earliestDeadline, earliestDeadline <= now else { return [] }
        let all = timed
        self.earliestDeadline = nil
        var expired: [ConnectionSlot] = []
        for slot in all {
            guard let deadline = self[slot].session.deadline else { continue }
            if deadline <= now, expired.count < Self.expiredPerTurn {
                expired.append(slot)
            } else {
                watchDeadline(of: slot)
            }
        }
        return expired.sorted()
    }

    // MARK: Reading

    /// Whether more frames of the connection may be processed.
    @inline(__always)
    func mayProcess(_ slot: ConnectionSlot) -> Bool {
        let (pauses, state) = (self[slot].pauses, self[slot].session.state)
        if case .closing = state { return false }
        return pauses.isEmpty
    }

    /// Adds a reason to pause reading from the connection.
    ///
    /// - Returns: Whether this is the first reason. If so, the host must pause reading now.
    mutating func pause(_ slot: ConnectionSlot, _ reason: Connection.Pauses) -> Bool {
        let wasRead = self[slot].pauses.isEmpty
        self[slot].pauses.insert(reason)
        return wasRead
    }

    /// Removes a reason to pause reading.
    ///
    /// - Returns: Whether this was the last reason. If so, the host must resume reading now.
    mutating func resume(_ slot: ConnectionSlot, _ reason: Connection.Pauses) -> Bool {
        self[slot].pauses.remove(reason) != nil && self[slot].pauses.isEmpty
    }

    // MARK: Draining

    mutating func drainBegan() {
        drain = .committing
        for slot in slots { self[slot].session.drainBegan() }
    }

    mutating func drainFinished() {
        drain = .done
    }
}
