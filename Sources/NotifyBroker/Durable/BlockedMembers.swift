import DequeModule

/// The members that got no message because their connections had no room, by connection and in this order.
///
/// The members of one connection continue one by one, so that a connection that has room again costs the same however
/// many members it has.
struct BlockedMembers {
    private struct Lane {
        /// Some have ended.
        var members: Deque<MemberID> = []
        var endedCount = 0
        var hasRoom = false
        /// Whether the connection waits for a turn.
        var isQueued = false
    }

    /// A lane is kept while it has members, or waits for a turn.
    private var lanes: [ConnectionID: Lane] = [:]

    /// Adds a member whose connection has no room.
    mutating func add(_ member: MemberID, on connection: ConnectionID) {
        lanes[connection, default: Lane()].members.append(member)
        lanes[connection]?.hasRoom = false
    }

    /// Notes that a connection has room again.
    ///
    /// - Returns: Whether it is to be queued for a turn.
    mutating func wake(_ connection: ConnectionID) -> Bool {
        guard let lane = lanes[connection] else { return false }
        lanes[connection]?.hasRoom = true
        lanes[connection]?.isQueued = true
        return !lane.isQueued
    }

    /// Takes the next member of a connection, whose turn it is.
    ///
    /// - Returns: The member, which may have ended, and whether the connection is to be queued for another turn.
    mutating func takeTurn(of connection: ConnectionID) -> (member: MemberID?, isQueued: Bool) {
        guard var lane = lanes.removeValue(forKey: connection) else { return (nil, false) }
        let member = lane.hasRoom ? lane.members.popFirst() : nil
        lane.isQueued = lane.hasRoom && !lane.members.isEmpty
        if !lane.members.isEmpty { lanes[connection] = lane }
        return (member, lane.isQueued)
    }

    /// Notes that a blocked member of a connection has ended.
    ///
    /// - Parameter isAttached: Whether a member has not ended.
    mutating func ended(on connection: ConnectionID, _ isAttached: (MemberID) -> Bool) {
        guard var lane = lanes.removeValue(forKey: connection) else { return }
        lane.endedCount += 1
        // Seldom enough that an ending costs the same however many members there are.
        if lane.endedCount > lane.members.count / 2 {
            lane.members.removeAll { !isAttached($0) }
            lane.endedCount = 0
        }
        if !lane.members.isEmpty || lane.isQueued { lanes[connection] = lane }
    }
}
