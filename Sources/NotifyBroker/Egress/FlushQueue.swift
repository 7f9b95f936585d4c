import DequeModule

/// The connections whose output waits for a turn of the event loop, by user. Users take turns, and so do a user's
/// connections.
struct FlushQueue {
    private struct Lane {
        let uid: UInt32
        var connections: Deque<ConnectionID> = []
    }

    /// The users' connections. A lane without any is removed at its turn.
    private var lanes: [Lane] = []
    /// The index of each user's lane.
    private var indices: [UInt32: Int] = [:]
    /// The lane that has the next turn.
    private var turn = 0
    /// The lane of the last connection that was added: most of those added together belong to one user.
    private var latest = 0
    private var count = 0

    var isEmpty: Bool { count == 0 }

    mutating func append(_ id: ConnectionID, of uid: UInt32) {
        if latest >= lanes.count || lanes[latest].uid != uid { latest = index(of: uid) }
        lanes[latest].connections.append(id)
        count += 1
    }

    /// Takes the next connection, which may have been closed.
    mutating func next() -> ConnectionID? {
        guard count > 0 else { return nil }
        while true {
            if turn >= lanes.count { turn = 0 }
            if let id = lanes[turn].connections.popFirst() {
                turn += 1
                count -= 1
                return id
            }
            removeLane(at: turn)
        }
    }

    private mutating func index(of uid: UInt32) -> Int {
        if let index = indices[uid] { return index }
        indices[uid] = lanes.count
        lanes.append(Lane(uid: uid))
        return lanes.count - 1
    }

    /// Moves the last lane to the place of an empty one.
    private mutating func removeLane(at index: Int) {
        indices[lanes[index].uid] = nil
        let last = lanes.removeLast()
        guard index < lanes.count else { return }
        lanes[index] = last
        indices[last.uid] = index
    }
}
