import DequeModule
import NotifyWire

/// The members of a durable subscription, and their turns for the next message.
///
/// Members with room take turns. A member with many messages in flight gets several messages in one turn, because a run
/// of messages to one connection costs less than single messages.
struct Members {
    /// The maximum number of messages in one turn, if there are several members.
    private static let maximumTurn = 32

    /// A slot for a member. The member is not optional, because each access would copy an optional. A free slot keeps
    /// its last member.
    private struct Slot {
        var member: Member
        var isUsed = true
        /// The indices of the members that attached just before and just after this one.
        var previous: Int?
        var next: Int?
        var place = Place.none

        var room: Int {
            @inline(__always) get { isUsed ? member.room : 0 }
        }
    }

    /// The place where a member waits for its turn.
    private enum Place {
        case none, queue, blocked
    }

    /// An entry of the queue.
    private enum Turn {
        case member(Int)
        /// The next member that is blocked on the connection.
        case connection(ConnectionID)
    }

    private var slots: [Slot] = []
    private var free: [Int] = []
    private var registry = MemberRegistry()
    /// The indices of the members that have been attached for the longest and the shortest time.
    private var (oldest, newest): (Int?, Int?)
    private var committedCount = 0
    /// The members that may have room, in the order of their turns. Excludes the member whose turn it is now.
    private var queue: Deque<Turn> = []
    private var blocked = BlockedMembers()
    /// The member whose turn it is.
    private var current: Int?
    /// The number of messages that are left of the current turn.
    private var turn = 0
    /// The room of the members that are not stalled. The room of stalled members is counted apart.
    private var activeRoom = 0
    private var stalledRoom = 0
    private var stalledCount = 0
    private var nextID = MemberID(rawValue: 0)

    var count: Int { slots.count - free.count }
    var isEmpty: Bool { count == 0 }
    /// The number of further messages that all members together may get.
    var room: Int { areAllStalled ? stalledRoom : activeRoom }
    /// The number of messages that were delivered to members and not answered.
    private(set) var unacknowledged = 0
    /// The sum of the members' windows.
    private(set) var window = 0
    /// The number of messages that the members have acknowledged.
    private(set) var acknowledgedCount: UInt64 = 0
    /// The member that has been attached longest; nil if there is none.
    var first: Member? { oldest.map { slots[$0].member } }
    /// Whether the attachment of a member is committed.
    var hasCommitted: Bool { committedCount > 0 }
    var all: some Sequence<Member> { slots.lazy.filter(\.isUsed).map(\.member) }
    /// The number of different identities of members.
    var identityCount: Int { registry.identityCount }
    /// The different identities of the members, in order of attachment.
    var allIdentities: [IdentityID] {
        var found: Set<IdentityID> = []
        return allIndices.map { slots[$0].member.attachment.identity }.filter { found.insert($0).inserted }
    }
    /// Whether an identity has a member.
    func hasMember(of identity: IdentityID) -> Bool { registry.hasMember(of: identity) }

    /// A member by its index.
    @inline(__always)
    subscript(index: Int) -> Member? { isUsed(index) ? slots[index].member : nil }

    @inline(__always)
    private func isUsed(_ index: Int) -> Bool { slots.indices.contains(index) && slots[index].isUsed }

    /// The identifier of the member with an index.
    @inline(__always)
    func id(at index: Int) -> MemberID? { isUsed(index) ? slots[index].member.id : nil }

    /// The connection and the subscription number to which a member's messages are sent.
    @inline(__always)
    func recipient(at index: Int) -> (connection: ConnectionSlot, number: UInt32) {
        (slots[index].member.attachment.connection.slot, slots[index].member.attachment.number)
    }

    func index(of id: MemberID) -> Int? { registry.index(of: id) }

    func index(of attachment: Attachment) -> Int? {
        registry.index(of: attachment).flatMap { slots[$0].member.attachment == attachment ? $0 : nil }
    }

    /// The members that a client has on other connections.
    func members(of instance: InstanceID, notOn connection: ConnectionID) -> [Member] {
        guard registry.isElsewhere(instance, than: connection) else { return [] }
        return all.filter { $0.attachment.instance == instance && $0.attachment.connection != connection }
    }

    // MARK: Changing

    /// Adds a member, and returns its index.
    mutating func add(_ attachment: Attachment, credit: UInt32) -> Int {
        let member = Member(attachment, id: nextID, credit: credit)
        nextID = nextID.next
        let index = free.popLast() ?? slots.count
        if index == slots.count {
            slots.append(Slot(member: member))
        } else {
            (slots[index].member, slots[index].isUsed) = (member, true)
        }
        (slots[index].previous, slots[index].next) = (newest, nil)
        if let newest { slots[newest].next = index } else { oldest = index }
        newest = index
        registry.add(member, at: index)
        window += attachment.window
        // The turn of a single member does not end, so it must end when another member joins.
        turn = 0
        return index
    }

    mutating func remove(_ index: Int) -> Member? {
        guard let member = self[index] else { return nil }
        let wereAllStalled = areAllStalled
        update(index) { $0.answered() }
        activeRoom -= self[index]?.room ?? 0
        unacknowledged -= member.unacknowledged
        acknowledgedCount -= member.acknowledgedCount
        window -= member.attachment.window
        unlink(index)
        slots[index].isUsed = false
        registry.remove(member)
        if member.isCommitted { committedCount -= 1 }
        free.append(index)
        if current == index { current = nil }
        if slots[index].place == .blocked {
            slots[index].place = .none
            let registry = registry
            blocked.ended(on: member.attachment.connection) { registry.index(of: $0) != nil }
        }
        if !wereAllStalled, areAllStalled { queueAll() }
        return member
    }

    private mutating func unlink(_ index: Int) {
        let (previous, next) = (slots[index].previous, slots[index].next)
        if let previous { slots[previous].next = next } else { oldest = next }
        if let next { slots[next].previous = previous } else { newest = previous }
    }

    /// Changes a member, updates the totals, and queues the member for a turn if it has room.
    @inline(__always)
    mutating func update(_ index: Int, _ change: (inout Member) -> Void) {
        guard isUsed(index) else { return }
        // The member is changed in place, because copying it takes long.
        let (room, wasStalled) = (slots[index].member.room, slots[index].member.isStalled)
        let wasCommitted = slots[index].member.isCommitted
        unacknowledged -= slots[index].member.unacknowledged
        acknowledgedCount -= slots[index].member.acknowledgedCount
        change(&slots[index].member)
        unacknowledged += slots[index].member.unacknowledged
        acknowledgedCount += slots[index].member.acknowledgedCount
        if slots[index].member.isCommitted != wasCommitted { committedCount += 1 }
        let (newRoom, isStalled) = (slots[index].member.room, slots[index].member.isStalled)
        if !wasStalled, !isStalled {
            activeRoom += newRoom - room
        } else {
            move(from: (room, wasStalled), to: (newRoom, isStalled))
        }
        if newRoom > 0 { enqueue(index) }
    }

    private mutating func move(from: (room: Int, isStalled: Bool), to: (room: Int, isStalled: Bool)) {
        let wereAllStalled = areAllStalled
        if from.isStalled { stalledRoom -= from.room } else { activeRoom -= from.room }
        if to.isStalled { stalledRoom += to.room } else { activeRoom += to.room }
        stalledCount += (to.isStalled ? 1 : 0) - (from.isStalled ? 1 : 0)
        if !wereAllStalled, areAllStalled { queueAll() }
    }

    // MARK: Turns

    private mutating func enqueue(_ index: Int) {
        guard slots[index].place == .none, current != index else { return }
        slots[index].place = .queue
        queue.append(.member(index))
    }

    private mutating func queueAll() {
        for index in slots.indices where self[index]?.room ?? 0 > 0 { enqueue(index) }
    }

    /// Records that a connection has room again.
    mutating func wake(_ connection: ConnectionID) {
        if blocked.wake(connection) { queue.append(.connection(connection)) }
    }

    /// The next member to get a message; nil if no member that may take a turn has room. Stalled members take turns
    /// only if all are stalled. The caller checks the room of the member's connection.
    @inline(__always)
    mutating func candidate() -> Int? { turnHolder ?? nextTurn() }

    /// The member whose turn it is; nil if its turn is over, if it has no room, or if it is stalled and others are not.
    @inline(__always)
    var turnHolder: Int? {
        guard let current, turn > 0, slots[current].room > 0, stalledCount == 0 || isEligible(current) else {
            return nil
        }
        return current
    }

    private var areAllStalled: Bool { stalledCount == count }

    private func isEligible(_ index: Int) -> Bool {
        areAllStalled || !slots[index].member.isStalled
    }

    private mutating func nextTurn() -> Int? {
        if let last = current.take(), slots[last].isUsed { enqueue(last) }
        while let next = queue.popFirst() {
            guard let index = takeIndex(of: next) else { continue }
            slots[index].place = .none
            guard slots[index].room > 0, isEligible(index) else { continue }
            current = index
            turn = count == 1 ? .max : min(max(slots[index].member.unacknowledged, 1), Self.maximumTurn)
            return index
        }
        return nil
    }

    /// The member that gets a turn from an entry of the queue; nil if there is none.
    private mutating func takeIndex(of next: Turn) -> Int? {
        switch next {
        case .member(let index): return index
        case .connection(let connection):
            let (member, isQueued) = blocked.takeTurn(of: connection)
            if isQueued { queue.append(next) }
            return member.flatMap { registry.index(of: $0) }
        }
    }

    /// Leaves the candidate out until `wake`, because its connection has no room.
    mutating func blockCandidate() {
        guard let index = current.take() else { return }
        slots[index].place = .blocked
        blocked.add(slots[index].member.id, on: slots[index].member.attachment.connection)
    }

    /// Ends the turn of the candidate, because it may not receive the next message.
    mutating func passTurn() {
        if let index = current.take() { enqueue(index) }
    }

    /// The number of messages that the candidate may get in a row.
    @inline(__always)
    var turnRoom: Int { current.map { min(turn, slots[$0].room) } ?? 0 }

    /// Records the delivery of some messages to a member.
    ///
    /// - Parameter sequence: The sequence of the last message.
    @inline(__always)
    mutating func delivered(_ count: Int = 1, through sequence: UInt64, to index: Int) {
        let room = slots[index].room
        slots[index].member.delivered(count, through: sequence)
        let change = slots[index].room - room
        if stalledCount > 0, slots[index].member.isStalled { stalledRoom += change } else { activeRoom += change }
        unacknowledged += count
        turn -= count
    }
}

extension Members {
    /// The members that may get messages and have room.
    var withRoom: some Sequence<Member> {
        slots.indices.lazy.filter { slots[$0].room > 0 && isEligible($0) }.map { slots[$0].member }
    }

    /// The indices of all members, beginning with the one that has been attached longest.
    var allIndices: [Int] {
        var indices: [Int] = []
        var next = oldest
        while let index = next {
            indices.append(index)
            next = slots[index].next
        }
        return indices
    }
}
