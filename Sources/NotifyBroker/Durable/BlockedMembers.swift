import DequeModule

/// The members that got no message because their connections had no room, in order for each connection.
///
/// The members of one connection continue one by one. So the work when a connection has room again does not depend on
/// the number of its members.
struct BlockedMembers {
    private struct Lane {
        /// The blocked members in order. Some of them have ended.
        var members: Deque<MemberID> = []
        var endedCount = 0
        var hasRoom = false
        /// Whether the connection waits for a turn.
        var isQueued = false
    }

    /// The blocked members of each connection. A lane is kept while it has members, or while its connection waits for a
    /// turn.
    private var lanes: [ConnectionID: Lane] = [:]

    /// Adds a member whose connection has no room.
    mutating func add(_ member: MemberID, on connection: ConnectionID) {
        lanes[connection, default: Lane()].members.append(member)
        lanes[connection]?.hasRoom = false
    }

    /// Records that a connection has room again.
    ///
    /// - Returns: Whether the caller must queue the connection for a turn.
    mutating func wake(_ connection: ConnectionID) -> Bool {
        guard let lane = lanes[connection] else { return false }
        lanes[connection]?.hasRoom = true
        lanes[connection]?.isQueued = true
        return !lane.isQueued
    }

    /// Takes the next member of the connection that has the turn.
    ///
    /// - Returns: The member, which may have ended, and whether the caller must queue the connection for another turn.
    mutating func takeTurn(of connection: ConnectionID) -> (member: MemberID?, isQueued: Bool) {
        guard var lane = lanes.removeValue(forKey: connection) else { return (nil, false) }
        let member = lane.hasRoom ? lane.members.popFirst() : nil
        lane.isQueued = lane.hasRoom && !lane.members.isEmpty
        if !lane.members.isEmpty { lanes[connection] = lane }
        return (member, lane.isQueued)
    }

    /// Records that a blocked member of a connection has ended.
    ///
    /// - Parameter isAttached: Returns whether a member has not ended.
    mutating func ended(on connection: ConnectionID, _ isAttached: (MemberID) -> Bool) {
        guard var lane = lanes.removeValue(forKey: connection) else { return }
        lane.endedCount += 1
        // Ended members are removed so rarely that the work per ended member does not depend on the number of members.
        if lane.endedCount > lane.members.count / 2 {
            lane.members.removeAll { !isAttached($0) }
            lane.endedCount = 0
        }
        if !lane.members.isEmpty || lane.isQueued { lanes[connection] = lane }
    }
}
